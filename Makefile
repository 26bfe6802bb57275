# The same verbs for people and for CI. `make demo` and `make test` are all that a newcomer needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What opens exports in the tests: transformers.js for Node.js from npm, and playwright, which drives the system's Chromium.
NODE_READY := tests/javascript/node_modules/.ready
BROWSER_READY := $(VENV)/.browser-ready
# An environment of its own: LibreTranslate pins older versions of what is used here.
LIBRETRANSLATE := .venv-libretranslate
# Beside the environment and not in it: 1 GB for one file of tests.
TRITON := .triton
# One process of tests a core, one thread each; a process that runs out of tests takes over some of another's.
SPREAD := --numprocesses logical --dist worksteal

.DEFAULT_GOAL := help
.PHONY: prove-doctor help demo setup test test-full check docs format build clean \
	bench-training bench-decoding prove-decoding prove-multi30k prove-scan prove-digits prove-plan prove-scale prove-resume prove-ro-en prove-tokenizers prove-formats

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; say: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: $(READY) ## make the environment in .venv

demo: $(READY) ## train a Romanian-English translator on the embedded corpus and try it
	$(BIN)/interlingua demo

test: $(READY) ## the tests; seven minutes on two new cores, seventeen on two old ones
	$(BIN)/python -m pytest -q $(SPREAD)

test-full: $(READY) ## slower laws, more cases
	$(BIN)/python -m pytest -q -m slow $(SPREAD)

# Without the scripts of packages: one of them would fetch a CUDA library. The CPU's are in the packages themselves.
$(NODE_READY): tests/javascript/package.json tests/javascript/package-lock.json
	@command -v npm >/dev/null || { echo "npm is needed, and Node.js 18 or newer (Debian: apt-get install nodejs npm)"; exit 1; }
	cd tests/javascript && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

$(BROWSER_READY): $(READY)
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
		|| { echo "Chromium is needed (Debian: apt-get install chromium)"; exit 1; }
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test-browser]'
	@touch $@

.PHONY: runtimes test-runtimes
runtimes: $(NODE_READY) $(BROWSER_READY) $(LIBRETRANSLATE)/.ready ## transformers.js, playwright, LibreTranslate for the tests (1.2 GB); needs Node.js, npm and Chromium

test-runtimes: runtimes ## exports opened by transformers.js in Node.js, by Chromium, Argos Translate and LibreTranslate
	INTERLINGUA_REQUIRE_RUNTIMES=1 $(BIN)/python -m pytest -q -m runtime

.PHONY: test-browser
test-browser: $(BROWSER_READY) ## the page in Chromium, on a desk and on a phone (minutes)
	INTERLINGUA_REQUIRE_RUNTIMES=1 $(BIN)/python -m pytest -q -m runtime tests/browser

$(TRITON)/.ready: $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --target $(TRITON) triton==3.9.0
	@touch $@

.PHONY: test-gpu
test-gpu: $(TRITON)/.ready ## the kernels of graphics cards, by Triton's interpreter on any processor (two minutes, 1 GB)
	PYTHONPATH=$(TRITON) TRITON_INTERPRET=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q --noconftest tests/parity/test_gpu_kernels.py

check: $(READY) ## format, lint, types, imports, spelling, and that every test can be collected
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	@told=$$($(BIN)/python -m pytest --collect-only -q 2>&1) || { echo "$$told" | tail -n 40; exit 1; }

format: $(READY) ## rewrite what `make check` would complain about
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.docs-ready ## the site, in build/site (a minute)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs build/site

.PHONY: figures
figures: $(READY) ## the figures of the walk through the paper, from the demo's model and three small recurrent ones; trains what is not there
	$(BIN)/interlingua demo
	$(BIN)/python benchmarks/book_figures.py runs/demo-ro-en docs/images/book

$(VENV)/.docs-ready: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

build: $(READY) ## wheel and sdist in dist/; on Linux x86-64 the wheel has compiled kernels (GCC 11 or newer, a minute)
	rm -f dist/interlingua-*
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(BIN)/python -m build

clean: ## remove the environment and everything that was built; runs/ stays
	rm -rf $(VENV) $(LIBRETRANSLATE) $(TRITON) .benchmarks build dist docs/api .import_linter_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis tests/javascript/node_modules

bench-training: $(READY) ## training speed beside its peers, an hour and a half, or with FLAGS="--rows small"; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/training.py $(FLAGS)

bench-decoding: $(READY) ## decoding speed beside its peers, an hour and more; needs INTERLINGUA_DATA and make prove-multi30k
	$(BIN)/python benchmarks/decoding.py

prove-digits: $(READY) ## copying and reversing digits: recipes and no recipe (about ten minutes)
	$(BIN)/python benchmarks/prove_digits.py

prove-scan: $(READY) ## SCAN simple to 99.5 % exact; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_scan.py

prove-decoding: $(READY) ## precision, invariance, glossary, placeholders, confidence at full size; trains what is missing of two models; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_decoding.py

.PHONY: prove-predecessors
prove-predecessors: $(READY) ## RNN, LSTM, GRU, convolutions and the Transformer at equal time, five hours; the same again resumes; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_predecessors.py

.PHONY: prove-tasks prove-intermediary prove-pretraining prove-encoders
prove-tasks: $(READY) ## letters to phonemes, summaries, translation or not, lost marks, commands to actions (an hour); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_tasks.py

prove-intermediary: $(READY) ## a frozen English encoder with a new decoder for Japanese, against all new (two hours); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_intermediary.py

prove-pretraining: $(READY) ## gaps filled first, then 5,000 pairs, against the pairs alone, three seeds (four hours); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_pretraining.py

prove-encoders: $(READY) ## hidden words guessed first, then sentence pairs classified, against from scratch (two hours); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_encoders.py

prove-multi30k: $(READY) ## the Multi30k recipe, forty minutes of training; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_multi30k.py

.PHONY: prove-anchor
prove-anchor: $(READY) ## the published Transformer-Tiny on Multi30k, three seeds (85 minutes each, one core); the same again resumes; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_anchor.py

.PHONY: prove-regularisation
prove-regularisation: $(READY) ## BPE-dropout, R-Drop, a running mean of the weights on Multi30k, three seeds each (three hours); the same again resumes; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_regularisation.py

.PHONY: prove-loss
prove-loss: $(READY) ## what the kernels cost in loss: 500 updates in bfloat16 against the plain model in float32, three seeds (half an hour); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_loss.py

.PHONY: prove-wmt14
prove-wmt14: $(READY) ## the recipes of the paper's two models, three updates each, from raw news text to a score (twenty minutes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_wmt14.py

prove-ro-en: $(READY) ## Romanian to English beside transformers, then word alignment (80 minutes, two cores); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_ro_en.py

.PHONY: prove-ray
prove-ray: $(READY) ## a million lines through Ray Data, a worker killed on the way; trains the demo if it is not there
	$(BIN)/python benchmarks/prove_ray.py

.PHONY: prove-finetune
prove-finetune: $(READY) ## Tatoeba fine-tuned on Multi30k in three ways, an hour on one core; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_finetune.py

.PHONY: prove-choices
prove-choices: $(READY) ## tokenizers, heads, widths, shared tables, how far positions reach, on Multi30k (an hour); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_choices.py

.PHONY: prove-word-vectors prove-ablation
prove-word-vectors: $(READY) ## embeddings drawn at random, or vectors of words, frozen and not, three seeds (half an hour); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_word_vectors.py

prove-ablation: $(READY) ## each part of the Transformer removed once, three seeds: table and loss curves in runs/ablation (half an hour)
	$(BIN)/interlingua ablate recipes/demo_ro_en.toml --model.tie none --output runs/ablation

.PHONY: prove-back-translation prove-robustness prove-distill
prove-back-translation: $(READY) ## 10,000 pairs of Multi30k and 19,000 back-translated lines, three seeds (four hours on two new cores, twenty on two old ones; the same again resumes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_back_translation.py

prove-robustness: $(READY) ## Multi30k with and without noise, on test sets as people type, three seeds (two to four hours); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_robustness.py

prove-distill: $(READY) ## a student of a base model on Multi30k: BLEU, size, speed (hours); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_distill.py

.PHONY: prove-transfer prove-comparison prove-many-languages
prove-transfer: $(READY) ## English-Romanian from 2,000 pairs, alone and from English-German, three seeds (three hours); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_transfer.py

prove-comparison: $(READY) ## two systems of three seeds on two test sets: figures, LaTeX table and page of `compare` against sacreBLEU (minutes after make prove-transfer, which it does first); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_comparison.py

prove-many-languages: $(READY) ## one model of English, German and Romanian, with and without temperature, and what it makes of pairs that it never saw (half an hour); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_many_languages.py

.PHONY: prove-learning-curve
prove-learning-curve: $(READY) ## BLEU of 1,000, 3,000 and 10,000 pairs of four corpora and of 29,000 of one, as train chooses, and whether plan foretold it (hours; the same again resumes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_learning_curve.py

.PHONY: prove-replay
prove-replay: $(READY) ## a run on Multi30k, killed, resumed and moved, is trained again from its folder alone; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_replay.py

.PHONY: prove-presets prove-quality
prove-presets: $(READY) ## the automatic choices against a search of 20 trials at equal budget, five corpora (six hours; the same again resumes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_presets.py

prove-quality: $(READY) ## every figure of quality from little data, one proof after the other (a day on two cores; the same again resumes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_quality.py

prove-resume: $(READY) ## kill, stop and starve training: nothing is lost (35 minutes); needs strace
	$(BIN)/python benchmarks/prove_resume.py

.PHONY: prove-corrections prove-adapt
prove-corrections: $(READY) ## 200 corrections: every repeat right, all else unmoved; trains the base of prove-finetune if it is not there; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_corrections.py

prove-adapt: $(READY) ## 200 captions learnt for good by a model of everyday sentences, of which none is lost (half an hour on one core; the same again resumes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_adapt.py

.PHONY: prove-exports
prove-exports: $(READY) ## the demo in every format, each copy against its model (fifteen minutes)
	$(BIN)/python benchmarks/prove_exports.py

prove-plan: $(READY) ## `plan` against real runs on five configurations, three times each (fifteen minutes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_plan.py

prove-tokenizers: $(READY) ## five million lines, a million random strings, hostile texts (an hour); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_tokenizers.py
	$(BIN)/python -m pytest -q -m proof tests/properties tests/parity tests/unit/tokenization tests/system/test_two_scripts.py

prove-formats: $(READY) ## memory of two hundred megabytes in each form of corpus (minutes)
	$(BIN)/python -m pytest -q -s -m proof tests/system/test_corpus_forms.py

prove-scale: $(READY) ## 4.5 million pairs: memory and speed of `prepare`; four to eleven minutes, needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_scale.py

# An environment of its own (0.6 GB, no torch): LibreTranslate pins older versions of what is used here.
$(LIBRETRANSLATE)/.ready:
	$(PYTHON) -m venv $(LIBRETRANSLATE)
	$(LIBRETRANSLATE)/bin/python -m pip install --quiet libretranslate==1.9.6 argos-translate-lt==1.12.1
	@touch $@

.PHONY: prove-argos
prove-argos: $(READY) $(LIBRETRANSLATE)/.ready ## Argos Translate and a LibreTranslate server with the demo's model, or with RUN and SENTENCES (minutes)
	$(BIN)/python benchmarks/prove_argos.py $(RUN) $(SENTENCES) --python $(LIBRETRANSLATE)/bin/python

.PHONY: prove-clean
prove-clean: $(READY) ## a million pairs cleaned and examined: time, and memory that does not grow (ten minutes); needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_clean.py

prove-doctor: $(READY) ## 400 faults put into real corpora, anew each time: what doctor finds; needs INTERLINGUA_DATA
	$(BIN)/python benchmarks/prove_doctor.py

.PHONY: prove-markup
prove-markup: $(READY) ## elements keep their words: each noun and adjective of the demo's test set in one, or with RUN (two minutes)
	$(BIN)/python benchmarks/prove_markup.py $(RUN)

.PHONY: prove-server bench-serving bench-page
prove-server: $(READY) ## 100,000 random requests, ten times too many for a minute, 500 slow clients, 1,000 that leave (twenty minutes)
	$(BIN)/python benchmarks/prove_server.py

bench-serving: $(READY) $(LIBRETRANSLATE)/.ready ## 32 clients beside one after another, CTranslate2 and LibreTranslate (minutes); needs RUN, SENTENCES
	$(BIN)/python benchmarks/serving.py $(RUN) $(SENTENCES) --libretranslate $(LIBRETRANSLATE)/bin/python

bench-page: $(BROWSER_READY) ## how long a person waits for the page; needs RUN, SENTENCES, Chromium (a minute)
	$(BIN)/python benchmarks/page_speed.py $(RUN) $(SENTENCES)

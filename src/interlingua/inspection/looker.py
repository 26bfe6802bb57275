"""Answers to the questions that a page asks about a model, as JSON."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import ValidationError

from interlingua.checkpoints.adapter_folder import load_adapter
from interlingua.checkpoints.model_folder import build, find_model_folder
from interlingua.checkpoints.sentences import SENTENCES, read_sentences
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import check_tensors, parameters_of
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import ConfigError, InterlinguaError
from interlingua.evaluation.metrics import sentence_chrf
from interlingua.inspection.alignment import choose_alone
from interlingua.inspection.beam_tree import grow_beam_tree, words_instead
from interlingua.inspection.embeddings import principal_components, words_of
from interlingua.inspection.interventions import intervene
from interlingua.inspection.json_form import as_json
from interlingua.inspection.nearest_pairs import TrainingPairs
from interlingua.inspection.positions import dot_products_by_distance, position_vectors
from interlingua.inspection.questions import (
    LONGEST_TEXT,
    QUESTIONS,
    CheckpointQuestion,
    FileQuestion,
    HeadName,
    NeighboursQuestion,
    StepsQuestion,
    TextQuestion,
    TraceQuestion,
    TreeQuestion,
    WalkQuestion,
)
from interlingua.inspection.saliency import gradient_times_input
from interlingua.inspection.steps import follow_steps, model_of, plain_transformer
from interlingua.inspection.trace import Trace, trace_translation
from interlingua.inspection.walk import walk_head, walk_input
from interlingua.training.adapting import merged_weights
from interlingua.translator import Translator

__all__ = ["Looker"]

Json = Any
LEAST_SENTENCES = 20
MOST_PAIRS = 200
"""Pairs that the best view is found with: at least, at most."""
MOST_SENTENCES = 30
"""Sentences of one text that are opened up; the others are translated without."""
NUM_POSITIONS = 64
NUM_NEIGHBOURS = 10
NUM_NEAREST = 5
MOST_POINTS = 4_000
"""Tokens on the map of embeddings, the first of the vocabulary, which are the most frequent."""
KEPT_CHECKPOINTS = 12


class Looker:
    """Models and what can be told about them.

    Args:
        translators: the models.
        folders: the run folder or model folder of each, for what stands beside its weights.
        longest: characters of a sentence of a text beyond which it is translated, and not opened up.
    """

    def __init__(
        self,
        translators: Sequence[Translator],
        folders: Sequence[Path],
        *,
        longest: int = LONGEST_TEXT,
    ) -> None:
        self._models = [
            _Model(translator, Path(folder), longest)
            for translator, folder in zip(translators, folders, strict=True)
        ]

    def answer(self, name: str, content: dict[str, Any]) -> Json:
        """Answer one question in the types of JSON.

        Raises:
            ConfigError: there is no such question or model, or it asks for what cannot be.
            ModelError: the model cannot be looked into.
        """
        if name not in QUESTIONS:
            raise ConfigError(f"there is no question {name!r}; ask one of: {', '.join(QUESTIONS)}")
        try:
            question = QUESTIONS[name].model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or name
            told = first["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{where}: {told}") from None
        if name == "models":
            return {"models": [model.names() for model in self._models]}
        if question.model >= len(self._models):
            raise ConfigError(f"there is no model {question.model}: there are {len(self._models)}")
        return as_json(_answers(self._models[question.model])[name](question))


def _answers(model: "_Model") -> dict[str, Callable[[Any], Json]]:
    return {
        "about": lambda question: model.about(),
        "best-view": lambda question: model.best_view,
        "translation": model.translation,
        "trace": lambda question: model.trace(question)[1].to_dict(),
        "steps": model.steps,
        "saliency": model.saliency,
        "walk": model.walk,
        "tree": model.tree,
        "embeddings": lambda question: model.embeddings,
        "neighbours": model.neighbours,
        "positions": lambda question: model.positions(),
        "checkpoint": model.checkpoint,
        "file": model.file,
        "nearest": model.nearest,
    }


class _Model:
    """One model, and what is found out about it only once."""

    def __init__(self, translator: Translator, folder: Path, longest: int) -> None:
        self.translator = translator
        self.longest = longest
        self.folder = find_model_folder(folder)
        run = folder if self.folder != folder else folder.parent
        self.run = run if (run / "checkpoints").is_dir() else None
        self._loading = Lock()
        self._checkpoints: OrderedDict[int, Translator] = OrderedDict()

    def names(self) -> Json:
        """What tells this model from the others."""
        return {
            "source_lang": self.translator.source_lang,
            "target_lang": self.translator.target_lang,
            "name": (self.folder.parent if self.folder.name == "model" else self.folder).name,
        }

    def about(self) -> Json:
        """Languages, sizes, and what else there is to look at."""
        translator, model = self.translator, model_of(self.translator)
        source, target = translator.tokenizers.source, translator.tokenizers.target
        return {
            "source_lang": translator.source_lang,
            "target_lang": translator.target_lang,
            "architecture": model.architecture.to_dict(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "source_vocabulary": source.vocabulary_size,
            "target_vocabulary": target.vocabulary_size,
            "shared": translator.tokenizers.shared,
            "max_length": translator.max_source_length,
            "beam_size": translator.decoding.beam_size,
            "length_penalty": translator.decoding.length_penalty,
            "checkpoints": self._store().steps() if self.run else [],
            "training_pairs": self._has_pairs(),
            "example": next((pair.source for pair in self.sentences if len(pair.source) < 60), ""),
        }

    @cached_property
    def sentences(self) -> tuple[SentencePair, ...]:
        """Sentences that the model was not trained on, or the first that it was where none are kept."""
        kept = read_sentences(self.folder / SENTENCES, self.translator.direction)
        return kept or (self._pairs.first(MOST_PAIRS) if self._has_pairs() else ())

    @cached_property
    def best_view(self) -> Json:
        """Which head aligns best, by the words that occur together in the sentences beside the model."""
        pairs = [(pair.source, pair.target) for pair in self.sentences]
        if len(pairs) < LEAST_SENTENCES:
            return None
        try:
            view, score = choose_alone(self.translator, pairs)
        except InterlinguaError:
            return None
        return {
            "layer": view.layer,
            "head": view.head,
            "step": view.step,
            "score": score,
            "sentences": len(pairs),
        }

    def trace(self, question: TraceQuestion) -> tuple[Translator, Trace]:
        """Open one translation up, with what is switched off."""
        translator = intervene(self.translator, question.switches)
        return translator, trace_translation(translator, question.text, question.target)

    def translation(self, question: TraceQuestion) -> Json:
        """Translate a text sentence by sentence; each with its tokens, how likely they are, and what they looked at."""
        translator = intervene(self.translator, question.switches)
        view = self.best_view
        parts: list[dict[str, Any]] = []
        sentences = _cut(question.text, translator)
        given = question.target if len(sentences) == 1 else None
        for before, text, after in sentences:
            part: dict[str, Any] = {"before": before, "after": after}
            if text and len(parts) < MOST_SENTENCES and len(text) <= self.longest:
                part |= _open(trace_translation(translator, text, given), view)
            elif text:
                own = translator.translate([text])[0].text if given is None else given
                part |= {"target": own}
            parts.append(part)
        whole = "".join(p["before"] + p.get("target", "") + p["after"] for p in parts)
        return {"text": whole, "parts": parts}

    def steps(self, question: StepsQuestion) -> Json:
        """Tell what was thought at each step, and which words could stand in place of one."""
        translator, trace = self.trace(question)
        told: dict[str, Json] = {"steps": follow_steps(translator, trace)}
        if question.instead_of:
            told["words"] = words_instead(translator, question.text, question.instead_of)
        return told

    def saliency(self, question: TraceQuestion) -> Json:
        """Tell what each written token hangs on."""
        return {"gradient_times_input": gradient_times_input(*self.trace(question))}

    def walk(self, question: WalkQuestion) -> Json:
        """Tell the numbers of one head, and what comes before and after it."""
        translator, trace = self.trace(question)
        which = HeadName(question.kind, question.layer, question.head)
        source, target = walk_input(translator, trace)
        return {
            "source_tokens": trace.source_tokens,
            "target_tokens": trace.target_tokens,
            "target_inputs": trace.target_inputs,
            "source": source,
            "target": target,
            "head": walk_head(translator, trace, which),
            "steps": follow_steps(translator, trace),
        }

    def tree(self, question: TreeQuestion) -> Json:
        """Grow the tree of a search."""
        return grow_beam_tree(
            intervene(self.translator, question.switches),
            question.text,
            question.edits,
            beam_size=question.beam_size,
            alpha=question.alpha,
        )

    @cached_property
    def embeddings(self) -> Json:
        """Every token along the first two principal components."""
        model, pair = plain_transformer(self.translator), self.translator.tokenizers
        sides = {"source": (model.source_embedding, pair.source)}
        if model.source_embedding.table is not model.target_embedding.table:
            sides["target"] = (model.target_embedding, pair.target)
        told = {}
        for side, (embedding, tokenizer) in sides.items():
            words = words_of(tokenizer)
            vectors = embedding.table.weight.detach().float().cpu().numpy()
            found = principal_components(vectors[words])
            told[side] = {
                "ids": words[:MOST_POINTS],
                "tokens": tokenizer.tokens(words[:MOST_POINTS]),
                "coordinates": np.round(found.coordinates[:MOST_POINTS], 4),
                "explained": found.explained,
                "size": len(words),
            }
        return {"sides": told, "shared": len(sides) == 1}

    def neighbours(self, question: NeighboursQuestion) -> Json:
        """Name the tokens whose vectors point most the same way."""
        model, pair = plain_transformer(self.translator), self.translator.tokenizers
        on_source = question.side == "source"
        embedding = model.source_embedding if on_source else model.target_embedding
        tokenizer = pair.source if on_source else pair.target
        if question.id >= tokenizer.vocabulary_size:
            raise ConfigError(
                f"there is no token {question.id}: there are {tokenizer.vocabulary_size}"
            )
        words = np.array(words_of(tokenizer))
        vectors = embedding.table.weight.detach().float().cpu().numpy()
        own = vectors[question.id]
        lengths = np.linalg.norm(vectors[words], axis=1) * np.linalg.norm(own)
        cosines = vectors[words] @ own / np.maximum(lengths, 1e-12)
        order = [n for n in np.argsort(-cosines, kind="stable") if words[n] != question.id]
        near = [int(n) for n in order[:NUM_NEIGHBOURS]]
        names = tokenizer.tokens([int(words[n]) for n in near])
        return {
            "token": tokenizer.tokens([question.id])[0],
            "neighbours": [
                {"id": int(words[n]), "text": name, "cosine": float(cosines[n])}
                for n, name in zip(near, names, strict=True)
            ],
        }

    def positions(self) -> Json:
        """Return the vectors of the first positions, and their products by distance."""
        model = plain_transformer(self.translator)
        length = min(NUM_POSITIONS, model.architecture.max_positions)
        vectors = position_vectors(model.source_embedding.positions, length)
        mean, least, greatest = dot_products_by_distance(vectors)
        return {
            "kind": model.architecture.positions,
            "vectors": np.round(vectors, 4),
            "by_distance": {"mean": mean, "least": least, "greatest": greatest},
        }

    def checkpoint(self, question: CheckpointQuestion) -> Json:
        """Open the same translation up as the model saw it at one step of its training."""
        translator = intervene(self._at(question.step), question.switches)
        trace = trace_translation(translator, question.text, question.target)
        own = translator.translate([question.text])[0].text
        return {"step": question.step, "own": own, "trace": trace.to_dict()}

    def file(self, question: FileQuestion) -> Json:
        """Translate many sentences, and tell how likely, how long, and how like their references they are."""
        references = question.references
        if references is not None and len(references) != len(question.texts):
            raise ConfigError(
                f"there are {len(question.texts)} sentences and {len(references)} references; give one each"
            )
        found = intervene(self.translator, question.switches).translate(question.texts)
        lengths = map(len, self.translator.tokenizers.source.encode_batch(question.texts))
        rows = []
        for place, (each, length) in enumerate(zip(found, lengths, strict=True)):
            number = max(len(each.log_probabilities), 1)
            row = {
                "text": each.text,
                "score": each.score,
                "per_token": sum(each.log_probabilities) / number,
                "source_tokens": length,
                "target_tokens": len(each.tokens),
                "flags": each.flags,
            }
            if references is not None:
                reference = references[place]
                row["chrf"] = None if reference is None else sentence_chrf(each.text, [reference])
            rows.append(row)
        return {"rows": rows}

    def nearest(self, question: TextQuestion) -> Json:
        """Find the training pairs that have most of the text's tokens."""
        pairs = self._pairs if self._has_pairs() else None
        if pairs is None:
            raise ConfigError(
                "the corpus of this model is not here; open the run folder that it was trained in"
            )
        ids = self.translator.tokenizers.source.encode(question.text).ids
        return {"of": len(pairs), "pairs": pairs.nearest(ids, NUM_NEAREST)}

    def _has_pairs(self) -> bool:
        return self.run is not None and (self.run / "shards" / "training").is_dir()

    @cached_property
    def _pairs(self) -> TrainingPairs:
        assert self.run is not None
        return TrainingPairs.open(self.run / "shards" / "training", self.translator.tokenizers)

    def _store(self) -> CheckpointStore:
        assert self.run is not None
        return CheckpointStore(self.run / "checkpoints", keep=1)

    def _at(self, step: int) -> Translator:
        """Return the model as it was at one step; the last few asked for are kept."""
        if self.run is None or step not in self._store().steps():
            raise ConfigError(f"the run keeps no checkpoint of step {step}")
        with self._loading:
            if step not in self._checkpoints:
                self._checkpoints[step] = self._load(step)
                if len(self._checkpoints) > KEPT_CHECKPOINTS:
                    self._checkpoints.popitem(last=False)
            self._checkpoints.move_to_end(step)
            return self._checkpoints[step]

    def _load(self, step: int) -> Translator:
        now, store = self.translator, self._store()
        architecture = model_of(now).architecture
        model = build(architecture, now.tokenizers).eval()
        tensors, expected = store.weights(step), parameters_of(model)
        assert self.run is not None
        if (self.run / "adapter").is_dir():  # which is trained beside the weights
            adapter = load_adapter(self.run)
            tensors = merged_weights(tensors, adapter.alpha / adapter.rank)
        check_tensors(store.path(step), tensors, expected)
        for name, parameter in expected.items():
            parameter.copy_(tensors[name])
        return now.with_model(model)


def _cut(text: str, translator: Translator) -> list[tuple[str, str, str]]:
    """Cut a text into what is translated at once: sentences, or lines where the package for that is not installed."""
    from interlingua.requests.sentences import split_lines, split_sentences

    found = split_lines(text)
    if translator.takes_sentences:
        with suppress(ConfigError):
            found = split_sentences(text, translator.source_lang)
    return [(each.before, each.text, each.after) for each in found]


def _open(trace: Trace, view: Json) -> dict[str, Any]:
    """Return what is shown of one sentence beside its translation."""
    return {
        "source": trace.source,
        "target": trace.target,
        "source_tokens": trace.source_tokens,
        "target_tokens": trace.target_tokens,
        "log_probabilities": trace.log_probabilities,
        "flags": trace.flags,
        "alignment": _alignment(trace, view),
    }


def _alignment(trace: Trace, view: Json) -> Float[np.ndarray, "T S"]:
    """Return how much each target token has to do with each source token, by the best view or all of the last layer."""
    maps = trace.maps("cross")
    if not maps:
        return np.zeros((len(trace.target_tokens), len(trace.source_tokens)), dtype=np.float32)
    best = view and next((map for map in maps if map.layer == view["layer"]), None)
    if best is None:  # none is known, or its layer is switched off
        return np.round(maps[-1].weights.mean(0), 4)
    weights = best.weights
    looked = weights.mean(0) if view["head"] is None else weights[view["head"] - 1]
    if view["step"] == "reading":  # the step after the token was written, which reads it
        looked = np.concatenate((looked[1:], looked[-1:]))
    return np.round(looked, 4)

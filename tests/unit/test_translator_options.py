"""What a call can ask for beyond one search: several models, candidates, sentences, growing text, confidence."""

import asyncio
import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, repeat

import pytest
import torch
from random_models import restore_size

from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.model_folder import (
    LoadedModel,
    add_to_model_folder,
    save_model_folder,
)
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.config import DecodingConfig
from interlingua.decoding.cross_attention import cross_attention
from interlingua.errors import ConfigError, ModelError
from interlingua.model.architecture import (
    Architecture,
    DecoderArchitecture,
    EncoderArchitecture,
    RecurrentArchitecture,
)
from interlingua.model.building import build_encoder_decoder
from interlingua.model.transformer import Transformer
from interlingua.requests.confidence import CALIBRATION, Calibration
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.run_folder import RunFolder
from interlingua.translator import Translator

TEXTS = ["abc", "b", "Zq! and more", "", "a longer text"]
EVEN = Calibration((0.0,) * 8, (1.0,) * 8, (0.0,) * 8, 0.0, 50.0, 100)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two models with one vocabulary, and one with another."""
    place = tmp_path_factory.mktemp("models")
    made = []
    for seed, letters in ((1, "abcdefghijklmnopqrstuvwxyz ABC.,!"), (2, None), (3, "abc .!")):
        if letters:
            tokenizer = train_tokenizer([letters], kind="char", vocabulary_size=320)
        torch.manual_seed(seed)
        size = tokenizer.vocabulary_size
        sizes = Architecture(
            encoder_layers=1,
            decoder_layers=1,
            d_model=16,
            d_ff=32,
            heads=2**seed,
            max_positions=64,
        )
        model = Transformer(sizes, source_vocabulary=size, target_vocabulary=size).eval()
        restore_size(model)
        with torch.no_grad():
            model.output.weight.mul_(4.0)
        pair = TokenizerPair(tokenizer, tokenizer, shared=True)
        decoding = DecodingConfig(beam_size=3, max_length_offset=4)
        loaded = LoadedModel(model, pair, "en", "xx", decoding, 40)
        save_model_folder(place / str(seed), loaded, parameters_of(model), "a card\n")
        made.append(place / str(seed))
    return made


@pytest.fixture(scope="module")
def translator(folders):
    return Translator.load(folders[0], device="cpu", plain=True)


def test_an_ensemble_writes_the_mean_of_the_probabilities(folders, translator):
    same = Translator.load_ensemble([folders[0]] * 2, device="cpu")
    assert [t.text for t in same.translate(TEXTS)] == [t.text for t in translator.translate(TEXTS)]
    both = Translator.load_ensemble(folders[:2], device="cpu")
    members = [Translator.load(folder, device="cpu", plain=True) for folder in folders[:2]]
    pair = ("abc", both.translate(["abc"])[0].text or "b")
    (mean,) = both.score([pair])
    rows = [member.score([pair])[0].log_probabilities for member in members]
    first = [math.log((math.exp(a) + math.exp(b)) / 2) for a, b in zip(*rows, strict=True)]
    assert mean.log_probabilities == pytest.approx(first, abs=1e-4)


def test_an_ensemble_looks_where_its_members_look_on_average(folders):
    both = Translator.load_ensemble(folders[:2], device="cpu")
    members = [Translator.load(folder, device="cpu", plain=True) for folder in folders[:2]]
    first, second, mean = (
        cross_attention(each.model, torch.tensor([[7, 8, 9]]), [[9, 8]], pad_id=0, begin_id=2)
        for each in (*members, both)
    )
    torch.testing.assert_close(mean, (first + second) / 2)
    both.translate(TEXTS, check=True, coverage_penalty=0.5)


def test_models_with_other_vocabularies_cannot_write_together(folders):
    with pytest.raises(ConfigError, match="its vocabulary is not that of"):
        Translator.load_ensemble([folders[0], folders[2]])
    with pytest.raises(ConfigError, match="no model is given"):
        Translator.load_ensemble([])


def test_models_of_other_languages_cannot_write_together(folders, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folders[1], other)
    told = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(told | {"target_lang": "yy"}))
    write_manifest(other)
    with pytest.raises(ConfigError, match=r"other: translates en-yy, and .*1 en-xx; only models"):
        Translator.load_ensemble([folders[0], other])


def test_an_ensemble_of_taggers_tags(tmp_path):
    words = train_tokenizer(["the dog sees a cat"], kind="word", vocabulary_size=300)
    tags = train_tokenizer(["D N V"], kind="word", vocabulary_size=300)
    for seed, answers in enumerate(("tokens", "tokens", "sequence")):
        torch.manual_seed(seed)
        sizes = EncoderArchitecture(
            answers=answers, encoder_layers=1, d_model=16, d_ff=32, heads=2, tie="target"
        )
        model = build_encoder_decoder(
            sizes, source_vocabulary=words.vocabulary_size, target_vocabulary=tags.vocabulary_size
        ).eval()
        pair = TokenizerPair(words, tags, shared=False)
        loaded = LoadedModel(model, pair, "en", "xx", DecodingConfig(), 40)
        save_model_folder(tmp_path / str(seed), loaded, parameters_of(model), "a card\n")
    both = Translator.load_ensemble([tmp_path / "0", tmp_path / "1"], device="cpu")
    (found,) = both.translate(["the dog sees a cat"])
    assert len(found.text.split()) == 5
    assert set(found.text.split()) <= {"D", "N", "V"}
    with pytest.raises(ConfigError, match="2: is another kind of model than"):
        Translator.load_ensemble([tmp_path / "0", tmp_path / "2"], device="cpu")


def test_the_candidate_most_like_the_others_is_taken(translator):
    texts = ["abc", "a longer text"]
    drawn = translator.translate(texts, sample=True, n_best=8)
    chosen = translator.translate(texts, sample=True, mbr=8)
    for samples, best in zip(drawn, chosen, strict=True):
        assert best.text in {t.text for t in (samples, *samples.alternatives)}
        assert best.alternatives == ()
    with pytest.raises(ConfigError, match="mbr is 1"):
        translator.translate(texts, mbr=1)


def grown(stream):
    """Return the pieces of a stream, and what it returns."""
    pieces = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_pieces_of_a_stream_joined_are_the_translation(translator, beam_size):
    for text in TEXTS:
        pieces, streamed = grown(translator.stream(text, beam_size=beam_size))
        (whole,) = translator.translate([text], beam_size=beam_size)
        assert "".join(pieces) == whole.text.rstrip("\ufffd")
        assert (streamed.text, streamed.flags) == (whole.text, whole.flags)
        assert not torch.is_inference_mode_enabled()
    assert len(list(translator.stream("a longer text", beam_size=1))) > 1
    with pytest.raises(ConfigError, match="cannot have lock"):
        translator.stream("a", lock=True)


@pytest.mark.unchecked
def test_many_threads_and_an_event_loop_get_the_same_answers(translator):
    texts = ["abc", "b", "Zq!"]
    wanted = translator.translate(texts, check=True, force=["Z"])

    def ask(_):
        return translator.translate(texts, check=True, force=["Z"])

    with ThreadPoolExecutor(16) as pool:
        assert all(found == wanted for found in pool.map(ask, range(16)))
    assert asyncio.run(translator.translate_async(texts, check=True, force=["Z"])) == wanted


def test_an_endless_input_is_translated_as_it_comes(translator):
    found = translator.translate_iter(repeat("b"), beam_size=1, max_length=2)
    assert len({t.text for t in islice(found, 5)}) == 1


def test_sentences_are_translated_alone_and_their_white_space_is_kept(translator):
    text = "  Abc is here.  Is B?\tYes. \n"
    (found,) = translator.translate([text], split=True)
    alone = [t.text for t in translator.translate(["Abc is here.", "Is B?", "Yes."])]
    assert found.text == f"  {alone[0]}  {alone[1]}\t{alone[2]} \n"
    assert translator.translate(["", "  "], split=True)[1].text == "  "
    with pytest.raises(ConfigError, match="split and n_best"):
        translator.translate([text], split=True, n_best=2)


def test_faults_are_flagged_when_asked_for(translator):
    (cut,) = translator.translate(["a longer text than the others"], check=True, max_length=2)
    assert "uncovered-source" in cut.flags
    assert "uncovered-source" not in translator.translate(["ab"], check=True, min_length=9)[0].flags
    (loop,) = translator.translate(["ab"], check=True, prefix="ab ab ab ab")
    assert "loop" in loop.flags
    plain = translator.translate(["ab"], prefix="ab ab ab ab")[0]
    assert "loop" not in plain.flags


def test_faults_are_looked_for_in_what_a_model_without_attention_to_the_source_wrote(folders):
    source = Translator.load(folders[0], device="cpu")
    size = source.tokenizers.target.vocabulary_size
    for sizes in (
        RecurrentArchitecture(
            kind="lstm", attention="none", d_model=16, encoder_layers=1, decoder_layers=1
        ),
        DecoderArchitecture(decoder_layers=1, d_model=16, d_ff=32, heads=2),
    ):
        torch.manual_seed(1)
        model = build_encoder_decoder(sizes, source_vocabulary=size, target_vocabulary=size)
        translator = Translator(
            model,
            source.tokenizers,
            source_lang="en",
            target_lang="xx",
            decoding=DecodingConfig(),
            device="cpu",
            max_source_length=40,
        )
        (found,) = translator.translate(["abc"], check=True, prefix="no no no no", max_length=14)
        assert "loop" in found.flags


def test_given_pairs_are_scored_as_search_scores_them(translator):
    found = translator.translate(["abc", "b"], length_penalty=0.0, max_length=6)
    ended = [(s, t) for s, t in zip(["abc", "b"], found, strict=True) if t.stopped == "end"]
    scores = translator.score([(source, t.text) for source, t in ended])
    for (_, t), scored in zip(ended, scores, strict=True):
        if len(t.log_probabilities) == len(scored.log_probabilities):
            assert scored.log_probability == pytest.approx(t.score, abs=1e-4)
    (one,) = translator.score([("abc", "ab")])
    assert one.perplexity == pytest.approx(math.exp(-one.per_token))
    assert translator.score([("a" * 99, "b")])[0].truncated


@pytest.mark.unchecked
def test_batch_invariance_gives_the_same_bits_alone_and_together(translator):
    texts = [t for t in TEXTS * 3 if t]
    together = translator.translate(texts, batch_invariant=True)
    for text, found in zip(texts, together, strict=True):
        assert translator.translate([text], batch_invariant=True) == [found]
    plain = translator.translate(texts)
    assert [t.text for t in together] == [t.text for t in plain]
    for asked in ({"beam_size": 1}, {"coverage_penalty": 0.3}):
        together = translator.translate(texts, batch_invariant=True, **asked)
        for text, found in zip(texts, together, strict=True):
            assert translator.translate([text], batch_invariant=True, **asked) == [found]


@pytest.mark.unchecked
def test_batch_invariant_samples_are_the_same_to_the_bit_streamed_too(translator):
    asked = {"sample": True, "beam_size": 1, "temperature": 1.5, "batch_invariant": True}
    together = translator.translate(TEXTS * 5, **asked)
    for place, (text, found) in enumerate(zip(TEXTS * 5, together, strict=True)):
        assert grown(translator.stream(text, place=place, **asked))[1] == found


def test_what_a_shorter_dtype_does_not_do_is_told(folders):
    rounded = Translator.load(folders[0], device="cpu", dtype="int8")
    exact = Translator.load(folders[0], device="cpu", plain=True)
    assert "float32" not in rounded.translate(["abc"])[0].flags
    for asked in ({"prefix": "a"}, {"batch_invariant": True}, {"sample": True}, {"ban": ["q"]}):
        (found,) = rounded.translate(["abc"], **asked)
        assert "float32" in found.flags, asked
        (same,) = exact.translate(["abc"], **asked)
        assert (found.text, found.score) == (same.text, pytest.approx(same.score, abs=1e-5))
        assert "float32" not in same.flags
    _, streamed = grown(rounded.stream("abc"))
    assert "float32" in streamed.flags


def test_a_sample_depends_on_the_place_of_its_line(translator):
    texts = ["abc", "abc", "a longer text"]
    drawn = [t.text.rstrip("\ufffd") for t in translator.translate(texts, sample=True, seed=3)]
    streamed = [
        "".join(translator.stream(text, place=n, sample=True, seed=3, beam_size=1))
        for n, text in enumerate(texts)
    ]
    assert streamed == drawn
    few = translator.translate(["Abc is.", "B is."], split=True, sample=True, seed=3)
    many = translator.translate(["Abc is. B. C is.", "B is."], split=True, sample=True, seed=3)
    assert few[1].tokens == many[1].tokens
    assert few[1].text == translator.translate(["", "B is."], sample=True, seed=3)[1].text


def test_a_model_that_was_calibrated_tells_a_confidence(folders, translator):
    with pytest.raises(ConfigError, match="interlingua calibrate"):
        translator.translate(["a"], confidence=True)
    folder = add_to_model_folder(folders[1], CALIBRATION, EVEN.to_json())
    found = Translator.load(folder, device="cpu").translate(["abc"], confidence=True)
    assert found[0].confidence == 0.5
    assert found[0].alternatives == ()
    calibrated = Translator.load(folder, device="cpu")
    assert "uncalibrated" not in calibrated.translate(["abc"], confidence=True)[0].flags
    for asked in ({"beam_size": 1}, {"sample": True}, {"prefix": "b"}, {"force": ["Zc"]}):
        assert "uncalibrated" in calibrated.translate(["abc"], confidence=True, **asked)[0].flags, (
            asked
        )
    (nothing,) = calibrated.translate([" "], confidence=True, beam_size=1)
    assert (nothing.confidence, nothing.flags) == (1.0, ("empty",))
    for found in calibrated.translate(["", " \n", "abc"], confidence=True, split=True):
        assert (found.confidence == 1.0) == ("empty" in found.flags)
    add_to_model_folder(folder, CALIBRATION, "{}")
    with pytest.raises(ModelError, match="is no calibration"):
        Translator.load(folder)


def test_a_model_that_changes_gets_no_calibration_of_the_one_before(
    folders, tmp_path, capsys, monkeypatch
):
    run = RunFolder(tmp_path / "run")
    (run.checkpoints / "step-1").mkdir(parents=True)
    for path in (run.config, run.corpus_lock):
        path.touch()
    shutil.copytree(folders[2], run.model)
    (tmp_path / "a.en").write_text("abc\n" * 100)
    flags = ["--source", str(tmp_path / "a.en"), "--reference", str(tmp_path / "a.en")]
    for model in (run.path, run.model):
        with run.locked():
            assert main(["calibrate", str(model), *flags]) == 7
        assert "another process is training" in capsys.readouterr().err

    def replaced_meanwhile(*_):
        shutil.copytree(folders[0], run.model, dirs_exist_ok=True)
        return EVEN, None

    monkeypatch.setattr("interlingua.evaluation.calibration.calibrate", replaced_meanwhile)
    assert main(["calibrate", str(run.path), *flags]) == 5
    assert "other weights" in capsys.readouterr().err
    assert not (run.model / CALIBRATION).exists()


def test_the_commands_stream_score_and_refuse(folders, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = str(folders[0])
    assert main(["translate", model, "--stream", "--beam-size", "1", "abc"]) == 0
    (wanted,) = Translator.load(model, device="cpu", plain=True).translate(["abc"], beam_size=1)
    assert capsys.readouterr().out == wanted.text.rstrip("\ufffd") + "\n"
    assert main(["translate", model, "--stream", "a" * 60]) == 0
    assert "source is longer than" in capsys.readouterr().err
    calibrated = str(add_to_model_folder(folders[1], CALIBRATION, EVEN.to_json()))
    assert main(["translate", calibrated, "--confidence", "--split", "abc", "", "b"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == " ||| 1.000"
    (tmp_path / "a.en").write_text("abc\nb\n")
    (tmp_path / "a.xx").write_text("ab\nZ\n")
    assert main(["score", model, "--source", "a.en", "--target", "a.xx"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [len(line.split("\t")) for line in lines] == [3, 3]
    assert main(["calibrate", model, "--source", "a.en", "--reference", "a.xx"]) == 3
    assert "100 at least" in capsys.readouterr().err
    for refused in (
        "--stream --align",
        "--ensemble {} --align",
        "--ensemble {} --confidence",
        "--confidence --n-best 2",
        "--confidence --align",
    ):
        assert main(["translate", model, *refused.format(model).split(), "--", "abc"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["translate", model, "--force", "Z; c d", "--ban", "q", "abc"]) == 0
    written = capsys.readouterr().out
    assert "Z" in written
    assert "c d" in written

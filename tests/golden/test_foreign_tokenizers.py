"""Imported tokenizers, held to the ids and the output of the tools that made them."""

import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from interlingua.errors import TokenizerError
from interlingua.tokenization.foreign import (
    load_any,
    load_sentencepiece,
    load_subword_nmt,
    load_wordpiece,
)
from interlingua.tokenization.tokenizer import Tokenizer

pytestmark = pytest.mark.unchecked  # every word of many texts

CORPUS = [
    "the cat sat on the mat, and the dog sat by the door in 2014.",
    "The newest and the lowest of the widest roads are slow!",
    "ein Hund läuft über die Straße, und die Katze schläft.",
    "un câine aleargă pe stradă, iar pisica doarme.",
    "猫がマットの上に座った。犬がドアのそばに座った。",
    "<sep> between <cls> symbols <sep>",
] * 12

PARTS = ["a", "the", " ", "  ", "\u2581", "é", "e\u0301", "ｶﾞ", "\t", "\u3000", "<s>", "</s>"]
PARTS += ["<unk>", "<0x41>", "\u00a0", "𝒜", "ﬁ", "\r", "\0", "가", "\u1100", "\u1161", "der", "1"]
PARTS += ["…", "<sep>", "<cls>", "猫", "Straße", "\U0010ffff", "lowest", "ẞ", "ΑΣ"]
ROLL = random.Random(3)
ODD = ["".join(ROLL.choices(PARTS, k=ROLL.randrange(1, 12))) for _ in range(600)]
TEXTS = ["", " ", *CORPUS[:6], *ODD]


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no files of other tools")
    return Path(folder) / "subword"


def _train(path: Path, **options: Any) -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=options.pop("vocab_size", 600),
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
        **options,
    )
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


MODELS: list[dict[str, Any]] = [
    {"model_type": "bpe"},
    {"model_type": "unigram"},
    {"model_type": "bpe", "byte_fallback": True},
    {"model_type": "unigram", "byte_fallback": True, "remove_extra_whitespaces": False},
    {"model_type": "bpe", "split_by_whitespace": False, "add_dummy_prefix": False},
    {"model_type": "word", "vocab_size": 20},
    {"model_type": "char"},
    {
        "model_type": "unigram",
        "user_defined_symbols": ["<sep>", "<cls>"],
        "control_symbols": ["<x>"],
        "pad_id": 3,
        "normalization_rule_name": "nfkc",
    },
    {
        "model_type": "bpe",
        "user_defined_symbols": ["<sep>", "<cls>"],
        "normalization_rule_name": "nmt_nfkc_cf",
    },
    {"model_type": "bpe", "normalization_rule_name": "identity", "unk_id": 3, "pad_id": 0},
    {"model_type": "unigram", "bos_id": -1, "eos_id": 0, "unk_id": 1},
]


@pytest.mark.parametrize("options", MODELS, ids=str)
def test_a_sentencepiece_model_gives_the_ids_and_text_of_sentencepiece(
    options: dict[str, Any], tmp_path: Path
) -> None:
    reference = _train(tmp_path / "its.model", **options)
    ours = load_sentencepiece(tmp_path / "its.model")
    expected = [reference.encode(text) for text in TEXTS]
    assert ours.encode_batch(TEXTS) == expected
    assert [ours.encode(text).ids for text in TEXTS] == expected
    assert [ours.decode(ids) for ids in expected] == [reference.decode(ids) for ids in expected]
    ours.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode_batch(TEXTS) == expected


@pytest.mark.parametrize("options", MODELS, ids=str)
def test_a_sentencepiece_model_has_all_four_specials(
    options: dict[str, Any], tmp_path: Path
) -> None:
    reference = _train(tmp_path / "its.model", **options)
    ours = load_sentencepiece(tmp_path / "its.model")
    specials = [ours.pad_id, ours.unknown_id, ours.begin_id, ours.end_id]
    assert len(set(specials)) == 4
    assert all(0 <= number < ours.vocabulary_size for number in specials)
    assert ours.unknown_id == reference.unk_id()
    for ids, its in ((ours.end_id, reference.eos_id()), (ours.pad_id, reference.pad_id())):
        assert ids == its or its == -1
    size = reference.get_piece_size()
    assert ours.tokens(range(size)) == reference.id_to_piece(list(range(size)))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_sentencepiece_model_agrees_on_sixteen_languages(
    kind: str, data: Path, tmp_path: Path
) -> None:
    reference = _train(tmp_path / "its.model", model_type=kind, byte_fallback=True, vocab_size=900)
    ours = load_sentencepiece(tmp_path / "its.model")
    for file in sorted((data.parent / "flores200").glob("devtest.*")):
        lines = file.read_text(encoding="utf-8").split("\n")[:25]
        assert ours.encode_batch(lines) == reference.encode(lines)


def test_a_truncated_sentencepiece_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "its.model"
    _train(path, model_type="bpe")
    whole = path.read_bytes()
    for length in (1, 10, len(whole) // 3, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(TokenizerError, match=r"its\.model: "):
            load_sentencepiece(path)


def test_a_model_with_the_space_after_the_word_is_refused(tmp_path: Path) -> None:
    _train(tmp_path / "its.model", model_type="bpe", treat_whitespace_as_suffix=True)
    with pytest.raises(TokenizerError, match="space after a word"):
        load_sentencepiece(tmp_path / "its.model")


def test_subword_nmt_merges_print_what_subword_nmt_prints(data: Path, tmp_path: Path) -> None:
    ours = load_subword_nmt(data / "bpe.ref")
    lines = (data / "corpus.en").read_bytes().decode("utf-8").split("\n")
    expected = (data / "corpus.bpe.ref.en").read_bytes()
    assert "\n".join(ours.apply(line) for line in lines).encode("utf-8") == expected
    ours.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.encode_batch(lines) == ours.encode_batch(lines)
    for line, ids in zip(lines, ours.encode_batch(lines), strict=True):
        assert loaded.decode(ids) == loaded.normalise(line)


def test_subword_nmt_ids_print_the_same_where_the_merges_know_the_characters(data: Path) -> None:
    ours = load_subword_nmt(data / "bpe.ref")
    text = "iron cement is a ready for use paste"
    assert " ".join(ours.tokens(ours.encode(text).ids)) == ours.apply(text)


@pytest.mark.parametrize("version", ["#version: 0.2\n", "#version: 0.1\n", ""])
def test_subword_nmt_loses_nothing(version: str, tmp_path: Path) -> None:
    path = tmp_path / "codes"
    end = "e</w>" if "0.2" in version else "e </w>\nh e</w>\nt"
    path.write_text(f"{version}t h\nth {end if '0.2' in version else 'e'}\na n\n", encoding="utf-8")
    ours = load_any(path)
    for text in [
        "the than",
        "  a  b ",
        "@@",
        "@@ @ @@@",
        "</w>",
        "the</w> x</w>",
        "€ th€ €a",
        *ODD,
    ]:
        normal = ours.normalise(text)
        encoding = ours.encode(text)
        assert ours.decode(encoding.ids) == normal
        assert ours.normalise(normal) == normal
        for start, stop in encoding.offsets:
            assert 0 <= start < stop <= len(normal)
    with pytest.raises(TokenizerError, match="not sampled"):
        ours.encode_sampled("the", probability=0.1, seed=0, epoch=0, pair=0, side=0)
    with pytest.raises(TokenizerError, match="another tokenizer"):
        ours.decode([10**6])


def test_bert_pieces_are_those_of_bert(data: Path, tmp_path: Path) -> None:
    ours = load_wordpiece(data / "bert-base-uncased-vocab.txt")
    text = "The cat slept on the couch.It was too tired to get up."
    ids = ours.encode(text).ids
    assert " ".join(map(str, ids)) == (
        "1996 4937 7771 2006 1996 6411 1012 2009 2001 2205 5458 2000 2131 2039 1012"
    )
    assert (ours.pad_id, ours.unknown_id, ours.begin_id, ours.end_id) == (0, 100, 101, 102)
    assert ours.decode([101, *ids, 102, 0]).startswith("the cat slept on the couch")
    assert {100, 101, 102, 103, 0}.isdisjoint(ours.encode("[CLS] [SEP] [PAD] [MASK]").ids)
    ours.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode(text).ids == ids


def test_any_tokenizer_json_gives_the_ids_of_hugging_face(tmp_path: Path) -> None:
    backend = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "</s>", "<unk>"], show_progress=False
    )
    backend.train_from_iterator(CORPUS, trainer)
    backend.save(str(tmp_path / "tokenizer.json"))
    ours = load_any(tmp_path / "tokenizer.json")
    for text in CORPUS[:6]:
        encoding = ours.encode(text)
        expected = backend.encode(text, add_special_tokens=False)
        assert encoding.ids == expected.ids
        assert encoding.offsets == expected.offsets
        assert ours.encode_batch([text]) == [expected.ids]
        assert ours.tokens(encoding.ids) == expected.tokens
    assert {0, 1}.isdisjoint(ours.encode("a </s> b <s>").ids)
    assert (ours.begin_id, ours.end_id, ours.unknown_id) == (0, 1, 2)
    assert ours.pad_id == ours.end_id
    with pytest.raises(TokenizerError, match="repeatable"):
        ours.encode_sampled("a", probability=0.1, seed=0, epoch=0, pair=0, side=0)
    with pytest.raises(TokenizerError, match="surrogate"):
        ours.encode("\ud800")
    with pytest.raises(TokenizerError, match="not in the vocabulary"):
        ours.decode([10**6])


def test_a_tokenizer_json_without_an_end_is_refused(tmp_path: Path) -> None:
    backend = tokenizers.Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    backend.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(TokenizerError, match="no symbol that ends a sentence"):
        load_any(tmp_path / "tokenizer.json")


def test_files_are_recognised_by_what_they_hold(data: Path, tmp_path: Path) -> None:
    assert load_any(data / "bpe.ref").kind == "subword-nmt"
    assert load_any(data / "bert-base-uncased-vocab.txt").kind == "wordpiece"
    _train(tmp_path / "a", model_type="unigram")
    assert load_any(tmp_path / "a").kind == "unigram"
    load_any(tmp_path / "a").save(tmp_path / "b")
    assert load_any(tmp_path / "b").kind == "unigram"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"just some text\nin lines\n", "no tokenizer that is known here"),
        (b"\x80\x81\x82", "byte 0 is not UTF-8"),
        (b"#version: 0.2\nt h\nthree words here\n", "line 3 is not two symbols"),
        (json.dumps({"hello": 1}).encode(), 'has no "model"'),
    ],
)
def test_a_file_of_no_known_kind_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "what"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=message) as refused:
        load_any(path)
    assert str(path) in str(refused.value)


def test_a_vocabulary_without_unknown_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(TokenizerError, match=r"has no \[UNK\]"):
        load_wordpiece(tmp_path / "vocab.txt")
    with pytest.raises(TokenizerError, match="no such file"):
        load_wordpiece(tmp_path / "gone.txt")

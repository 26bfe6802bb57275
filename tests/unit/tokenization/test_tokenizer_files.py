"""One tokenizer.json: written whole, read again the same, refused when it is not one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from interlingua.errors import OutputError, TokenizerError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

CORPUS = [
    "the cat sat on the mat.",
    "ein Hund läuft über die Straße",
    "the dog sat by the door in 2014",
] * 5
TEXTS = [*CORPUS[:3], "a </s>  b ▁ € ", "THE", "don't <0x41>"]
FORMS = [
    {"kind": "bpe"},
    {"kind": "bpe", "byte_level": True},
    {"kind": "bpe", "normalization": "nfc", "lowercase": True},
    {"kind": "unigram", "normalization": "none"},
    {"kind": "wordpiece"},
    {"kind": "word"},
    {"kind": "char", "lowercase": True},
]


@pytest.fixture(params=FORMS, ids=str)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(CORPUS, vocabulary_size=400, **request.param)


def test_a_saved_tokenizer_is_the_same_when_loaded(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tokenizer.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert [loaded.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    assert loaded.kind == tokenizer.kind
    assert loaded.normalise("ﬁÉ") == tokenizer.normalise("ﬁÉ")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_hugging_face_opens_the_file_and_finds_the_same_ids(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    backend = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert backend.get_vocab_size() == tokenizer.vocabulary_size
    for text in CORPUS[:3]:
        ids = tokenizer.encode(text).ids
        assert backend.encode(text).ids == ids
        if tokenizer.kind != "wordpiece":
            assert backend.decode(ids, skip_special_tokens=False) == tokenizer.normalise(text)


def test_a_missing_file_a_folder_and_a_wrong_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"gone\.json: no such file"):
        Tokenizer.load(tmp_path / "gone.json")
    with pytest.raises(TokenizerError, match="is a folder"):
        Tokenizer.load(tmp_path)
    for content, message in (
        (b"", "not whole JSON"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        (b"[" * 100_000, "not whole JSON|nested too deeply"),
        (b"[1, 2]", 'has no "model"'),
        (b'{"model": 3}', 'has no "model"'),
        (b'{"model": {"type": "BPE"}}', "Hugging Face tokenizers cannot read it"),
    ):
        path = tmp_path / "wrong.json"
        path.write_bytes(content)
        with pytest.raises(TokenizerError, match=message):
            Tokenizer.load(path)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    train_tokenizer(CORPUS, kind="bpe", vocabulary_size=300).save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 499):
        path.write_bytes(whole[:length])
        with pytest.raises(TokenizerError, match=r"tokenizer\.json: "):
            Tokenizer.load(path)


def _newer(document: dict[str, Any]) -> None:
    document["model"]["interlingua"]["format"] = 99


def _without_kind(document: dict[str, Any]) -> None:
    del document["model"]["interlingua"]["kind"]


def _with_a_hole(document: dict[str, Any]) -> None:
    document["model"]["vocab"]["new"] = 10**6


def _without_bytes(document: dict[str, Any]) -> None:
    vocabulary = document["model"]["vocab"]
    vocabulary["other"] = vocabulary.pop("<0x41>")


def _with_wrong_specials(document: dict[str, Any]) -> None:
    document["model"]["interlingua"]["specials"] = [0, 1, 2, 10**6]


def _with_a_wrong_kind(document: dict[str, Any]) -> None:
    document["model"]["interlingua"]["kind"] = "morpheme"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_newer, "format 99"),
        (_without_kind, "is damaged"),
        (_with_a_hole, "ids are not 0, 1, 2"),
        (_without_bytes, "is damaged"),
        (_with_wrong_specials, "special symbol"),
        (_with_a_wrong_kind, "'morpheme' is not a kind"),
    ],
)
def test_a_damaged_document_is_refused(
    damage: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    train_tokenizer(CORPUS, kind="bpe", vocabulary_size=300).save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    damage(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(TokenizerError, match=message) as refused:
        Tokenizer.load(path)
    assert str(path) in str(refused.value)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"):
        train_tokenizer(CORPUS, kind="char", vocabulary_size=300).save(tmp_path)


def test_a_shared_pair_is_one_file(tmp_path: Path) -> None:
    one = train_tokenizer(CORPUS, kind="bpe", vocabulary_size=300)
    TokenizerPair(one, one, shared=True).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizer.json"]
    loaded = TokenizerPair.load(tmp_path)
    assert loaded.shared
    assert loaded.source is loaded.target


def test_a_separate_pair_is_two_files_and_replaces_a_shared_one(tmp_path: Path) -> None:
    source = train_tokenizer(CORPUS, kind="bpe", vocabulary_size=300)
    target = train_tokenizer(CORPUS, kind="char", vocabulary_size=300)
    TokenizerPair(source, source, shared=True).save(tmp_path)
    TokenizerPair(source, target, shared=False).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "source_tokenizer.json",
        "target_tokenizer.json",
    ]
    loaded = TokenizerPair.load(tmp_path)
    assert not loaded.shared
    assert (loaded.source.kind, loaded.target.kind) == ("bpe", "char")


def test_half_a_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"holds no tokenizer\.json"):
        TokenizerPair.load(tmp_path)
    train_tokenizer(CORPUS, kind="char", vocabulary_size=300).save(
        tmp_path / "source_tokenizer.json"
    )
    with pytest.raises(TokenizerError, match=r"target_tokenizer\.json: no such file"):
        TokenizerPair.load(tmp_path)

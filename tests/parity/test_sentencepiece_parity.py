"""Our tokenizers written as SentencePiece models, and read by SentencePiece."""

import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from interlingua.errors import OutputError, TokenizerError
from interlingua.tokenization.foreign import load_any, load_wordpiece
from interlingua.tokenization.sentencepiece_writing import write_sentencepiece
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

pytestmark = pytest.mark.unchecked  # every word of many texts

CORPUS = [
    "the cat sat on the mat , and the dog sat by the door .",
    "The weather is fine today; the cats are sleeping in 2014.",
    "ein Hund läuft über die Straße und die Katze schläft.",
    "un câine aleargă pe stradă, iar pisica doarme.",
    "猫がマットの上に座った。犬がドアのそばに座った。",
] * 8

TEXTS = [
    *CORPUS[:5],
    *("", " ", "   ", " leading", "trailing ", "two  spaces", "\t\r\0\n"),
    *("</s>", "a </s> b", "<pad> <unk> <s> </s>", "<0x41><0xFF>", "x<0x41>y", "<x> y<x>"),
    *(
        "line\u2028separator\u0085next",
        "\u0301lone mark",
        "e\u0301\u0323",
        "\u0651\u064f",
        "İJ\u030c",
    ),
    *(
        "\U0010ffff\ufdd0\ufffe",
        "👩\u200d👩\u200d👧 family",
        "a\u00a0b",
        "\ufeffbom",
        "ᄀ\u1161\u11a8가\u11a8",
    ),
    *("the@@ cat##s [UNK]", "Ġthe", "ﬁﬃ½㎏", "\u202eright to left\u202c", "\ue000", "THE CAT ΑΣ"),
]

FORMS: list[dict[str, Any]] = [
    {"normalization": "nfkc"},
    {"normalization": "nfc", "lowercase": True, "tags": ("<x>",)},
    {"normalization": "none"},
]


def open_with_sentencepiece(
    tokenizer: Tokenizer, path: Path
) -> sentencepiece.SentencePieceProcessor:
    write_sentencepiece(tokenizer, path)
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.fixture(scope="module")
def flores() -> list[str]:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no FLORES sentences")
    files = sorted((Path(folder) / "flores200").glob("devtest.*"))
    assert len(files) == 16
    return [line for file in files for line in file.read_text("utf-8").split("\n")[:-1]]


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_sentencepiece_finds_our_ids_and_our_text(
    kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    ours = train_tokenizer(CORPUS, kind=kind, vocabulary_size=500, **options)
    theirs = open_with_sentencepiece(ours, tmp_path / "our.model")
    again = load_any(tmp_path / "our.model")
    assert theirs.vocab_size() == ours.vocabulary_size
    for text in TEXTS:
        ids = ours.encode(text).ids
        assert theirs.encode(text) == ids, ascii(text)
        assert theirs.decode(ids) == ours.decode(ids)
        assert again.encode(text).ids == ids
        assert again.decode(ids) == ours.decode(ids)
    size = ours.vocabulary_size
    assert theirs.id_to_piece(list(range(size))) == ours.tokens(range(size))
    special = (theirs.pad_id(), theirs.unk_id(), theirs.bos_id(), theirs.eos_id())
    assert special == (ours.pad_id, ours.unknown_id, ours.begin_id, ours.end_id)
    assert (again.pad_id, again.unknown_id, again.begin_id, again.end_id) == special


def test_an_imported_model_is_written_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("\n".join(CORPUS), encoding="utf-8", newline="\n")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "corpus"),
        model_prefix=str(tmp_path / "its"),
        vocab_size=200,
        hard_vocab_limit=False,
        user_defined_symbols=["<sep>"],
        control_symbols=["<x>"],
        minloglevel=2,
    )
    its = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "its.model"))
    ours = load_any(tmp_path / "its.model")
    theirs = open_with_sentencepiece(ours, tmp_path / "our.model")
    texts = [*TEXTS, "a <sep> b<sep>", "\u2581"]
    assert theirs.encode(texts) == its.encode(texts)
    assert theirs.decode(its.encode(texts)) == its.decode(its.encode(texts))
    assert load_any(tmp_path / "our.model").encode_batch(texts) == its.encode(texts)


def test_the_table_of_replacements_knows_every_way_to_write_a_letter(tmp_path: Path) -> None:
    ours = train_tokenizer(CORPUS, kind="char", vocabulary_size=300)
    theirs = open_with_sentencepiece(ours, tmp_path / "our.model")
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    written = [
        f"x{form}y"
        for letter in letters
        for form in {letter, *(unicodedata.normalize(name, letter) for name in ("NFD", "NFKD"))}
        if not unicodedata.is_normalized("NFKD", letter)
    ]
    found = zip(written, theirs.encode(written), ours.encode_batch(written), strict=True)
    # Three marks that no text has held since Unicode 3 are replaced by others, which then join the letter before.
    others = {text for text, its, our in found if its != our}
    assert others <= {"x\u0340y", "x\u0341y", "x\u0344y"}


@pytest.mark.parametrize(
    ("kind", "byte_level", "message"),
    [
        ("bpe", True, "byte-level tokenizer cannot .* train a bpe, unigram or char tokenizer"),
        ("word", False, "a word tokenizer cannot be written as a SentencePiece model, .* train a"),
        ("wordpiece", False, "a wordpiece tokenizer cannot be written .* train a bpe"),
    ],
)
def test_what_sentencepiece_cannot_do_is_refused_and_nothing_is_written(
    kind: str, byte_level: bool, message: str, tmp_path: Path
) -> None:
    ours = train_tokenizer(CORPUS, kind=kind, vocabulary_size=400, byte_level=byte_level)
    with pytest.raises(TokenizerError, match=message):
        write_sentencepiece(ours, tmp_path / "our.model")
    assert not list(tmp_path.iterdir())


def test_a_tokenizer_of_another_tool_is_refused(tmp_path: Path) -> None:
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", encoding="utf-8")
    for other in (load_wordpiece(vocabulary), SubwordNmtTokenizer([("a", "b</w>")])):
        with pytest.raises(TokenizerError, match=r"from another tool .* take the \.model"):
            write_sentencepiece(other, tmp_path / "our.model")
    assert not (tmp_path / "our.model").exists()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    ours = train_tokenizer(CORPUS, kind="char", vocabulary_size=300)
    with pytest.raises(OutputError, match="is a folder"):
        write_sentencepiece(ours, tmp_path)


@pytest.mark.proof
@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_sentencepiece_agrees_on_every_sentence_of_sixteen_languages(
    kind: str, options: dict[str, Any], flores: list[str], tmp_path: Path
) -> None:
    ours = train_tokenizer(flores, kind=kind, vocabulary_size=8000, **options)
    theirs = open_with_sentencepiece(ours, tmp_path / "our.model")
    ids = ours.encode_batch(flores)
    assert len(ids) == 16 * 1012
    assert theirs.encode(flores) == ids
    assert theirs.decode(ids) == [ours.decode(each) for each in ids]


@pytest.mark.proof
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_we_agree_with_sentencepiece_on_every_sentence_of_sixteen_languages(
    kind: str, flores: list[str], tmp_path: Path
) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(flores),
        model_prefix=str(tmp_path / "its"),
        model_type=kind,
        vocab_size=8000,
        byte_fallback=True,
        minloglevel=2,
    )
    its = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "its.model"))
    ours = load_any(tmp_path / "its.model")
    ids = its.encode(flores)
    assert ours.encode_batch(flores) == ids
    assert [ours.decode(each) for each in ids] == its.decode(ids)

"""The tokenizer.json of an export, opened by Hugging Face tokenizers itself: the ids that our tokenizer gives."""

import os
from pathlib import Path

import pytest
from marian_folders import ENGLISH, make_marian_folder, train_spm
from tokenizers import Tokenizer as HuggingFace

from interlingua.interop.export import export_model
from interlingua.interop.import_model import import_model
from interlingua.interop.tokenizer_json import write_tokenizer_json
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.sentencepiece_model import read_sentencepiece
from interlingua.tokenization.tagged import TaggedTokenizer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer
from interlingua.tokenization.vocabulary import Specials
from interlingua.translator import Translator


@pytest.fixture(scope="module")
def real() -> list[str]:
    data = os.environ.get("INTERLINGUA_DATA")
    if not data:
        pytest.skip("needs INTERLINGUA_DATA, for real sentences")
    german = Path(data, "news_en_de/newstest2013.de").read_text(encoding="utf-8").splitlines()[:200]
    english = Path(data, "multi30k_en_de/valid.en").read_text(encoding="utf-8").splitlines()[:200]
    return [*german, *english]


def same(tokenizer: Tokenizer, path: Path, texts: list[str], before: tuple[int, ...] = ()) -> int:
    """Count the texts that both cut alike, and hold the two to each other in what they make of the ids."""
    theirs = HuggingFace.from_file(str(path))
    found = 0
    for text in texts:
        ids = [*before, *tokenizer.encode(text).ids]
        found += theirs.encode(text).ids == [*ids, tokenizer.end_id]
        joined = theirs.decode([*ids, tokenizer.end_id], skip_special_tokens=True)
        assert joined.strip() == tokenizer.decode(ids).strip()
    return found


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_real_sentences_get_equal_ids(real: list[str], tmp_path: Path, kind: str) -> None:
    tokenizer = train_tokenizer(real[:300], kind=kind, vocabulary_size=800)
    write_tokenizer_json(tmp_path / "tokenizer.json", tokenizer)
    assert same(tokenizer, tmp_path / "tokenizer.json", real) == len(real)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_tag_of_the_target_stands_before_every_source(
    real: list[str], tmp_path: Path, kind: str
) -> None:
    plain = train_tokenizer(real[:300], kind=kind, vocabulary_size=800, tags=("<2de>", "<2ro>"))
    tagged = TaggedTokenizer(plain, "<2ro>")
    write_tokenizer_json(tmp_path / "tokenizer.json", tagged)
    theirs = HuggingFace.from_file(str(tmp_path / "tokenizer.json"))
    for text in real:
        assert theirs.encode(text).ids == [*tagged.encode(text).ids, tagged.end_id]
    assert theirs.encode(real[0]).ids[0] == tagged.tag_id


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_real_sentences_get_the_ids_of_a_vocabulary_apart(
    real: list[str], tmp_path: Path, kind: str
) -> None:
    cutter = read_sentencepiece(train_spm(real[:300], kind, 800))
    pieces = [
        *("</s>", "<unk>", ">>fra<<", "only-there"),
        *(each for each in reversed(cutter.vocabulary.pieces) if each not in ("</s>", "<unk>")),
    ]
    specials = Specials(pad=pieces.index("<pad>"), unknown=1, begin=pieces.index("<pad>"), end=0)
    plain = RenumberedTokenizer(cutter, pieces, specials)
    write_tokenizer_json(tmp_path / "tokenizer.json", plain)
    tagged = [f">>fra<< {text}" for text in real[::20]]
    assert same(plain, tmp_path / "tokenizer.json", [*real, *tagged]) == len(real) + len(tagged)
    with_tag = RenumberedTokenizer(cutter, pieces, specials, ">>fra<<")
    write_tokenizer_json(tmp_path / "tagged.json", with_tag)
    theirs = HuggingFace.from_file(str(tmp_path / "tagged.json"))
    assert theirs.encode(real[0]).ids == [*with_tag.encode(real[0]).ids, 0]
    assert theirs.encode(real[0]).ids[0] == 2


def test_an_imported_model_goes_out_to_onnx_with_one_file_for_both_sides(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the export extra: onnxruntime")
    make_marian_folder(tmp_path / "opus")
    import_model(tmp_path / "opus", tmp_path / "model")
    (tmp_path / "some.en").write_text("\n".join(ENGLISH), encoding="utf-8")
    exported = export_model(
        tmp_path / "model",
        tmp_path / "onnx",
        format_name="onnx",
        verify=(tmp_path / "some.en",),
    )
    assert exported.proof is not None
    assert all(each.agreement == 1.0 or each.near_ties for each in exported.proof.comparisons)
    ours = Translator.load(tmp_path / "model", device="cpu").tokenizers.source
    known = [text for text in ENGLISH if ours.unknown_id not in ours.encode(text).ids]
    assert known
    assert same(ours, tmp_path / "onnx" / "tokenizer.json", known) == len(known)

"""New pieces go behind the old ones, and text without them is cut as before."""

from pathlib import Path

import pytest

from interlingua.errors import TokenizerError
from interlingua.tokenization.extension import extend_pair, extend_tokenizer, old_ids_of
from interlingua.tokenization.foreign import load_subword_nmt
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer
from interlingua.tokenization.vocabulary import Specials

OLD = ["the cat sees the dog", "a dog and a cat", "the good dog sees a cat"] * 3
OTHER = ["LE CHAT VOIT LE CHIEN", "UN CHIEN ET UN CHAT"] * 3
NEW = ["the snowboarder sees the Žluťák", "a snowboarder and a Žluťák", "snowboarders"] * 3


def tokenizer_of(kind: str, **options: object) -> PieceTokenizer:
    tokenizer = train_tokenizer(OLD, kind=kind, vocabulary_size=300, **options)
    assert isinstance(tokenizer, PieceTokenizer)
    return tokenizer


KINDS = [("bpe", False), ("bpe", True), ("unigram", False), ("wordpiece", False), ("word", False)]


@pytest.mark.parametrize(("kind", "byte_level"), [*KINDS, ("char", False)])
def test_old_ids_stay_and_old_text_is_cut_as_before(kind: str, byte_level: bool) -> None:
    old = tokenizer_of(kind, byte_level=byte_level)
    new = extend_tokenizer(old, NEW, 20)
    assert isinstance(new, PieceTokenizer)
    assert new.vocabulary.pieces[: len(old.vocabulary)] == old.vocabulary.pieces
    assert len(old.vocabulary) < len(new.vocabulary) <= len(old.vocabulary) + 20
    for text in OLD:
        assert new.encode(text).ids == old.encode(text).ids


@pytest.mark.parametrize(("kind", "byte_level"), [*KINDS, ("char", False)])
def test_new_text_takes_fewer_tokens_and_comes_back(kind: str, byte_level: bool) -> None:
    old = tokenizer_of(kind, byte_level=byte_level)
    new = extend_tokenizer(old, NEW, 40)
    assert sum(len(new.encode(t).ids) for t in NEW) < sum(len(old.encode(t).ids) for t in NEW)
    for text in (*NEW, "snow ž Ω"):
        assert new.decode(new.encode(text).ids) == new.normalise(text)


@pytest.mark.parametrize(("kind", "byte_level"), KINDS[:4])
@pytest.mark.parametrize("word", ["किताब", "книга", "க்குழந்தை", "หนังสือ"])
def test_a_word_with_marks_or_of_several_bytes_a_letter_becomes_few_pieces(
    kind: str, byte_level: bool, word: str
) -> None:
    new = extend_tokenizer(tokenizer_of(kind, byte_level=byte_level), [f"{word} {word}."] * 3, 60)
    assert len(new.encode(f" {word}").ids) <= 2


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_no_new_piece_mixes_letters_digits_and_signs(kind: str) -> None:
    old = tokenizer_of(kind)
    new = extend_tokenizer(old, ["Žluťák7 Žluťák7. (Žluťák)"] * 3, 60)
    added = [piece.strip("▁") for piece in new.all_tokens()[old.vocabulary_size :]]
    assert "Žluťák" in added
    assert all(piece.isalpha() or len(piece) <= 1 for piece in added)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "word"])
def test_an_extended_tokenizer_survives_its_file(kind: str, tmp_path: Path) -> None:
    new = extend_tokenizer(tokenizer_of(kind), NEW, 20, tags=["<bt>"])
    new.save(tmp_path / "t.json")
    again = Tokenizer.load(tmp_path / "t.json")
    for text in (*OLD, *NEW, "<bt>"):
        assert again.encode(text).ids == new.encode(text).ids


def test_each_new_piece_knows_the_old_ones_that_spelled_it() -> None:
    old = tokenizer_of("bpe")
    new = extend_tokenizer(old, NEW, 20)
    assert isinstance(new, PieceTokenizer)
    added = new.vocabulary.pieces[len(old.vocabulary) :]
    for piece, ids in zip(added, old_ids_of(old, new), strict=True):
        assert ids
        assert max(ids) < len(old.vocabulary)
        assert old.decode(ids) == piece.replace("▁", " ").removeprefix(" ")


def test_a_tag_becomes_one_id_that_no_text_becomes() -> None:
    old = tokenizer_of("bpe")
    new = extend_tokenizer(old, [], 0, tags=["<bt>"])
    assert isinstance(new, PieceTokenizer)
    assert new.vocabulary.pieces[-1] == "<bt>"
    assert len(old.vocabulary) not in new.encode("<bt>").ids


def test_the_same_text_gives_the_same_pieces_whatever_the_order_of_its_lines() -> None:
    old = tokenizer_of("bpe")
    one, other = extend_tokenizer(old, NEW, 20), extend_tokenizer(old, NEW[::-1], 20)
    assert isinstance(one, PieceTokenizer)
    assert isinstance(other, PieceTokenizer)
    assert one.vocabulary.pieces == other.vocabulary.pieces


def test_a_tokenizer_of_another_program_is_refused(tmp_path: Path) -> None:
    merges = tmp_path / "merges.bpe"
    merges.write_text("#version: 0.2\nt h\nth e</w>\n")
    with pytest.raises(TokenizerError, match="takes no new pieces"):
        extend_tokenizer(load_subword_nmt(merges), NEW, 5)


def marian_pair(kind: str) -> TokenizerPair:
    """Two cutters whose pieces one vocabulary numbers, the padding last, as Marian has them."""
    cutters = [tokenizer_of(kind), train_tokenizer(OTHER, kind=kind, vocabulary_size=300)]
    pieces = ["</s>", "<unk>", "<s>", ">>fra<<"]
    for cutter in cutters:
        assert isinstance(cutter, PieceTokenizer)
        pieces += [piece for piece in cutter.vocabulary.pieces if piece not in (*pieces, "<pad>")]
    pieces.append("<pad>")
    specials = Specials(pad=len(pieces) - 1, unknown=1, begin=2, end=0)
    source, target = (RenumberedTokenizer(cutter, pieces, specials) for cutter in cutters)
    return TokenizerPair(source, target, shared=False)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_two_cutters_of_one_vocabulary_still_have_one_afterwards(kind: str, tmp_path: Path) -> None:
    old = marian_pair(kind)
    new = extend_pair(old, NEW, [text.upper() for text in NEW], 20, ["<bt>"])
    size = old.source.vocabulary_size
    pieces = new.source.tokens(range(new.source.vocabulary_size))
    assert pieces[:size] == old.source.tokens(range(size))
    assert pieces == new.target.tokens(range(new.target.vocabulary_size))
    assert pieces.count("<bt>") == 1
    assert size + 20 < len(pieces) <= size + 41
    new.save(tmp_path)
    again = TokenizerPair.load(tmp_path)
    for before, after, texts in (
        (old.source, again.source, NEW),
        (old.target, again.target, [text.upper() for text in NEW]),
    ):
        cuts = [after.encode(text).ids for text in texts]
        assert sum(map(len, cuts)) < sum(len(before.encode(text).ids) for text in texts)
        assert [after.decode(cut) for cut in cuts] == texts
        assert max(max(cut) for cut in cuts) >= size
    assert pieces.index("<bt>") not in again.source.encode("<bt>").ids
    rows = old_ids_of(old.source, new.source)
    assert len(rows) == len(pieces) - size
    for piece, row in zip(pieces[size:], rows, strict=True):
        spelled = "".join(old.source.tokens(row))
        assert spelled == "<unk>" or set(spelled) <= set(piece)

"""The vocabularies of a Marian folder, of which there are two forms.

::

    vocab.spm                              a SentencePiece model cuts and numbers (Marian's own form)
    *.vocab.yml, source.spm, target.spm    SentencePiece cuts, the list numbers (OPUS-MT's form)

A list without SentencePiece models says nothing of how text was cut, and a factored vocabulary (``.fsv``) is not known here.
"""

from pathlib import Path

from interlingua.checkpoints.untrusted import check_vocabulary, read_file
from interlingua.errors import ModelError, TokenizerError
from interlingua.interop.foreign_model import choose_tag
from interlingua.interop.marian_yaml import Setting, read_vocabulary
from interlingua.tokenization import TokenizerPair
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.renumbered import RenumberedTokenizer, is_tag
from interlingua.tokenization.sentencepiece_model import count_pieces, read_sentencepiece
from interlingua.tokenization.vocabulary import Specials

__all__ = ["read_vocabularies"]

_LISTS = (".yml", ".yaml")
_SIDES = (("source", "target"), ("src", "trg"), ("src", "tgt"))
_BESIDE = "put the SentencePiece models that cut its text, source.spm and target.spm, beside it"


def read_vocabularies(
    folder: Path, told: Setting, rows: tuple[int, int], target_tag: str | None
) -> tuple[TokenizerPair, str, tuple[str, ...]]:
    """Return the tokenizers, the tag that sources begin with, and what to tell of it.

    Both have one symbol more than ``rows``, the last: for padding and to begin with, which Marian does with nothing.

    Args:
        folder: the model's.
        told: names of the vocabularies in its decoder settings; only what follows the last slash counts.
        rows: of the source's and the target's table.
        target_tag: see ``import_model``.

    Raises:
        ModelError: there is none, nobody knows which, or one that belongs to another model.
        TokenizerError: a SentencePiece model that cannot be read.
    """
    paths = _find(folder, told)
    sides = [_Side(folder, each, size) for each, size in zip(paths, rows, strict=True)]
    tag, remarks = choose_tag(
        [each for each in sides[0].pieces if is_tag(each)], target_tag, folder
    )
    source = sides[0].tokenizer("source", tag)
    target = sides[1].tokenizer("target", "")
    if (
        paths[0] == paths[1]
        and not tag
        and sides[0].cutter_path("source") == sides[1].cutter_path("target")
    ):
        return TokenizerPair(source, source, shared=True), tag, remarks
    return TokenizerPair(source, target, shared=False), tag, remarks


class _Side:
    """One vocabulary: its pieces in the order of their ids."""

    def __init__(self, folder: Path, path: Path, rows: int) -> None:
        self.folder, self.path, self.rows = folder, path, rows
        self.is_list = path.suffix in _LISTS
        if self.is_list:
            self.pieces = _listed(path, rows)
        else:
            self.cutter = _read_spm(path)
            count = count_pieces(read_file(path))
            if count != rows:
                raise ModelError(
                    f"{path}: has {count:,} pieces and the model {rows:,}; the two belong to different models"
                )
            self.pieces = list(self.cutter.vocabulary.pieces[:rows])
        self.pieces.append(next(name for name in _padding_names() if name not in self.pieces))

    def cutter_path(self, side: str) -> Path:
        """Return the SentencePiece model that cuts text of a side."""
        return self.folder / f"{side}.spm" if self.is_list else self.path

    def tokenizer(self, side: str, tag: str) -> RenumberedTokenizer:
        """Put the pieces together with what cuts text of a side."""
        pad = self.rows
        if not self.is_list:
            ends = self.cutter.end_id, self.cutter.unknown_id
            if max(ends) >= self.rows:
                raise ModelError(
                    f"{self.path}: has no end symbol or no unknown symbol, as Marian's have; "
                    "fetch the model again"
                )
            specials = Specials(pad=pad, unknown=ends[1], begin=pad, end=ends[0])
            return RenumberedTokenizer(self.cutter, self.pieces, specials, tag)
        path = self.cutter_path(side)
        if not path.exists():
            raise ModelError(f"{self.path}: says nothing of how text is cut; {_BESIDE}")
        cutter = _read_spm(path)
        numbers = {piece: number for number, piece in enumerate(self.pieces)}
        missing = next((name for name in ("</s>", "<unk>") if name not in numbers), None)
        if missing:
            raise ModelError(f"{self.path}: has no {missing}; fetch the model again")
        known = sum(piece in numbers for piece in cutter.vocabulary.pieces)
        if 2 * known < len(cutter.vocabulary):
            raise ModelError(
                f"{path}: {known:,} of its {len(cutter.vocabulary):,} pieces are in {self.path.name}; "
                "the two belong to different models"
            )
        specials = Specials(pad=pad, unknown=numbers["<unk>"], begin=pad, end=numbers["</s>"])
        return RenumberedTokenizer(cutter, self.pieces, specials, tag)


def _find(folder: Path, told: Setting) -> tuple[Path, Path]:
    """Return the vocabulary of each side."""
    names = [Path(each).name for each in (told if isinstance(told, list) else [told]) if each]
    _refuse_factored(folder, names)
    if len(names) == 2 and all((folder / each).is_file() for each in names):
        return folder / names[0], folder / names[1]
    lists = sorted(
        each
        for each in folder.iterdir()
        if each.suffix in _LISTS and "vocab" in each.name and each.is_file()
    )
    found = lists or sorted(each for each in folder.iterdir() if each.suffix == ".spm")
    _refuse_factored(folder, [each.name for each in folder.iterdir()])
    if not found:
        raise ModelError(
            f"{folder}: has no vocabulary (*.spm, or *vocab.yml and SentencePiece models)"
        )
    if len(found) == 1:
        return found[0], found[0]
    for source, target in _SIDES:
        mine = [each for each in found if source in each.name]
        other = [each for each in found if target in each.name]
        if len(mine) == len(other) == 1 and len(found) == 2:
            return mine[0], other[0]
    raise ModelError(
        f"{folder}: has {len(found)} vocabularies, and nothing tells which is whose; "
        "name the two under vocabs: in decoder.yml, the source's first"
    )


def _refuse_factored(folder: Path, names: list[str]) -> None:
    for name in names:
        if name.endswith(".fsv"):
            raise ModelError(
                f"{folder}: its vocabulary is factored ({name[:60]}), which is not read"
            )


def _read_spm(path: Path) -> PieceTokenizer:
    try:
        cutter = read_sentencepiece(read_file(path))
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None
    check_vocabulary(path, cutter.vocabulary.pieces)
    return cutter


def _listed(path: Path, rows: int) -> list[str]:
    """Return the pieces of a list; an id that none has gets a piece that no text becomes."""
    try:
        text = read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: is not UTF-8 ({error}); fetch the model again") from None
    found = read_vocabulary(text, str(path))
    check_vocabulary(path, list(found))
    pieces = [""] * rows
    for piece, number in found.items():
        if number >= rows:
            raise ModelError(
                f"{path}: gives {piece[:40]!r} the id {number}, and the model has {rows:,} ids; "
                "the two belong to different models"
            )
        if pieces[number]:
            raise ModelError(
                f"{path}: gives the id {number} to {pieces[number][:40]!r} and {piece[:40]!r}"
            )
        pieces[number] = piece
    return [piece or f"<unused {number}>" for number, piece in enumerate(pieces)]


def _padding_names() -> list[str]:
    return ["<pad>", *(f"<pad-{number}>" for number in range(1, 100))]

"""A model folder in another format: written, proved, and only then given its name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from interlingua.checkpoints.model_folder import LoadedModel, find_model_folder, load_model_folder
from interlingua.corpus.lines import read_lines
from interlingua.errors import ConfigError, CorpusError, ExportError
from interlingua.files import replace_folder
from interlingua.interop.model_card import write_export_card
from interlingua.interop.proof import Exporter, Proof, prove, refuse_without_runtime
from interlingua.interop.transformer_only import transformer_of
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.tagged import TaggedTokenizer

__all__ = ["FORMATS", "Exported", "export_model"]

FORMATS = ("ctranslate2", "marian", "onnx", "html", "argos")

_WITH_TAGS = ("ctranslate2", "onnx")
"""Where a tag before every source has a place: among the tokens that a caller gives, or in the tokenizer's template."""

CARD = "README.md"
_LIBRARIES = {"marian": "transformers", "onnx": "transformers.js", "ctranslate2": "ctranslate2"}
"""What the Hub calls the programs that open a folder."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export came to."""

    folder: Path
    format: str
    precision: str
    files: tuple[tuple[str, int], ...]
    """Names and bytes."""
    proof: Proof | None
    """None where the user wanted none."""


def export_model(
    model: Path,
    output: Path,
    *,
    format_name: str,
    quantization: str | None = None,
    verify: tuple[Path, ...] = (),
    is_proved: bool = True,
    licence: str | None = None,
    to: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Exported:
    """Write ``model`` in another format, whole and proved, or not at all.

    Args:
        model: run folder or model folder.
        output: folder that is not there yet, or is empty.
        format_name: one of :data:`FORMATS`.
        quantization: one of what the format takes; None is its first, exact one.
        verify: a file of source sentences for the proof, and their translations if there is a second; by default the
            validation sentences that are kept with the model.
        is_proved: False writes without a proof, which the card then says.
        licence: of the data, for the card; None says that it is not known.
        to: of a model of several pairs of languages, which one (``ro``, ``en-ro``); the copy is of this pair only.
        say: told what is going on.

    Raises:
        ConfigError: an unknown format or precision, a missing package, an output that is in the way, nothing to prove with.
        ModelError: the model cannot be read.
        ExportError: the format cannot hold the model, or the other program translates otherwise.
        OutputError: the place cannot be written.
    """
    exporter = _exporter_of(format_name)
    precision = quantization or next(iter(exporter.PRECISIONS))
    if precision not in exporter.PRECISIONS:
        raise ConfigError(
            f"--quantization {precision}: {format_name} takes {', '.join(exporter.PRECISIONS)}"
        )
    refuse_what_is_there(output)
    refuse_without_runtime(exporter, format_name)
    loaded = load_model_folder(model).chosen(model, to)
    _refuse_a_lost_tag(loaded, format_name)
    transformer_of(loaded)  # before anything is tried
    pairs = _pairs_to_prove(loaded, model, verify) if is_proved else []
    card = (find_model_folder(model) / CARD).read_text(encoding="utf-8")
    with replace_folder(output) as new:
        exporter.write(loaded, new, precision)
        proof = None
        if is_proved:
            say(f"{len(pairs):,} sentences go through Interlingua and {exporter.PROGRAM}")
            proof = prove(loaded, exporter, new, precision, pairs)
            if failure := proof.failure():
                raise ExportError(
                    f"{output}: not written, as {exporter.PROGRAM} does not translate like {model}: {failure}; "
                    "choose another --quantization, or report this"
                )
        (new / CARD).write_text(
            write_export_card(
                loaded,
                card,
                usage=exporter.usage(loaded, new),
                proof=proof,
                licence=licence,
                library=_LIBRARIES.get(format_name),
            ),
            encoding="utf-8",
        )
    files = tuple(
        (str(file.relative_to(output)), file.stat().st_size)
        for file in sorted(output.rglob("*"))
        if file.is_file()
    )
    return Exported(output, format_name, precision, files, proof)


def _refuse_a_lost_tag(loaded: LoadedModel, format_name: str) -> None:
    """Raise an ExportError if the copy could not put the tag of the target before every source."""
    source = loaded.tokenizers.source
    if isinstance(source, TaggedTokenizer) and format_name not in _WITH_TAGS:
        raise ExportError(
            f"--format {format_name}: has no place for {source.tag}, which this model of several pairs of languages needs "
            f"before every source; export to {' or '.join(_WITH_TAGS)}"
        )
    if format_name == "marian" and isinstance(source, RenumberedTokenizer) and source.default_tag:
        raise ExportError(
            f"--format marian: has no place for {source.default_tag}, which this model was imported with (--target-tag) and puts "
            "before every source; import it without, and begin each text with a tag"
        )


def refuse_what_is_there(output: Path) -> None:
    """Raise a ConfigError if ``output`` is anything but a new name or an empty folder."""
    if output.is_symlink() or output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise ConfigError(f"--output {output}: is there already; give a new name, or remove it")


def _exporter_of(name: str) -> Exporter:
    if name == "ctranslate2":
        from interlingua.interop import ctranslate2_export

        return ctranslate2_export
    if name == "marian":
        from interlingua.interop import marian_export

        return marian_export
    if name == "onnx":
        from interlingua.interop import onnx_export

        return onnx_export
    if name == "html":
        from interlingua.interop import html_export

        return html_export
    if name == "argos":
        from interlingua.interop import argos_export

        return argos_export
    raise ConfigError(f"--format {name}: is none of {', '.join(FORMATS)}")


def _pairs_to_prove(
    loaded: LoadedModel, model: Path, verify: tuple[Path, ...]
) -> list[tuple[str, str | None]]:
    if not verify:
        if not loaded.sentences:
            raise ConfigError(
                f"{model}: keeps no validation sentences to prove the export with (earlier versions kept none); "
                "give --verify FILE with some source sentences, one a line"
            )
        return [(pair.source, pair.target) for pair in loaded.sentences]
    sources = read_lines(verify[0])
    references = read_lines(verify[1]) if len(verify) > 1 else [None] * len(sources)
    if len(verify) > 2:
        raise ConfigError("--verify takes a file of sources, and at most one of references")
    if len(references) != len(sources):
        raise CorpusError(
            f"{verify[1]}: has {len(references):,} lines and {verify[0]} has {len(sources):,}; "
            "line N of one must be the translation of line N of the other"
        )
    return list(zip(sources, references, strict=True))

"""All that there is to see of one translation, in one folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from interlingua.errors import OutputError
from interlingua.files import write_text
from interlingua.inspection.attention import draw_attention, trace_labels
from interlingua.inspection.canvas import save_figure, warn_of_missing
from interlingua.inspection.embeddings import draw_embeddings, words_of
from interlingua.inspection.emergence import draw_emergence, read_samples
from interlingua.inspection.heat_map import draw_heat_map
from interlingua.inspection.positions import draw_positions, position_vectors
from interlingua.inspection.softmax_jacobian import draw_softmax_jacobian
from interlingua.inspection.trace import AttentionKind, Trace, trace_translation
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.transformer import Transformer
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.translator import Translator

__all__ = ["inspect"]

NUM_POSITIONS = 128
_FILE_NAMES: dict[AttentionKind, str] = {
    "cross": "cross-attention",
    "encoder": "encoder-self-attention",
    "decoder": "decoder-self-attention",
}


def inspect(
    translator: Translator, text: str, output: Path, *, run: Path | None = None
) -> list[Path]:
    """Translate ``text``, draw all that the model did, and write it to the folder ``output``.

    Every figure is written as PNG and as SVG, and the numbers behind them as ``trace.json``.

    Args:
        translator: the model.
        text: one sentence.
        output: the folder; it is made if it does not exist.
        run: the run folder that the model came from, if it did: how its attention emerged is drawn too.

    Returns:
        The files, in an order in which they are good to read.

    Raises:
        ConfigError: ``text`` holds nothing to translate.
        ModelError: the model is a variant whose attention cannot be read, or its run folder is damaged.
        OutputError: the folder cannot be written.
    """
    output = Path(output)
    _refuse_unwritable(output)
    trace = trace_translation(translator, text)
    warn_of_missing(trace_labels(trace))
    files = []
    for name, figure in _figures(translator, trace, run):
        files += save_figure(figure, output / name)
    write_text(output / "trace.json", trace.to_json())
    return [*files, output / "trace.json"]


def _refuse_unwritable(output: Path) -> None:
    """Say before any work is done that ``output`` cannot be a folder of ours; nothing is made yet."""
    place = next(place for place in (output, *output.absolute().parents) if place.exists())
    if not place.is_dir():
        below = "" if place == output else f"; {output} cannot be below it"
        raise OutputError(f"{place}: is a file{below}; give the name of a folder as --output")
    if not os.access(place, os.W_OK | os.X_OK):
        raise OutputError(
            f"{place}: is not yours to write; change its rights, or choose another --output"
        )


def _figures(
    translator: Translator, trace: Trace, run: Path | None
) -> Iterator[tuple[str, Figure]]:
    """Give one figure after the other, so that only one is in memory."""
    if trace.maps("cross"):
        yield "heat-map", draw_heat_map(trace)
    for kind, name in _FILE_NAMES.items():
        if trace.maps(kind):
            yield name, draw_attention(trace, kind)
    samples = None if run is None else run / "samples.jsonl"
    if samples is not None and samples.is_file() and trace.maps("cross"):
        for number, sentence in enumerate(read_samples(samples), start=1):
            yield (
                f"emergence-{number}",
                draw_emergence(
                    sentence,
                    source_name=f"source: {trace.source_lang}",
                    target_name=f"target: {trace.target_lang}",
                ),
            )
    if isinstance(translator.model, Transformer):
        yield from _draw_positions(translator.model)
        yield from _draw_embeddings(translator, translator.model)
    yield "softmax-jacobian", draw_softmax_jacobian()


def _draw_positions(model: Transformer) -> Iterator[tuple[str, Figure]]:
    """Draw what source and target add; once where the two are the same."""
    length = min(NUM_POSITIONS, model.architecture.max_positions)
    source = position_vectors(model.source_embedding.positions, length)
    target = position_vectors(model.target_embedding.positions, length)
    if np.array_equal(source, target):
        kind = type(model.source_embedding.positions).__name__
        yield "positions", draw_positions(source, f"{kind}, source and target")
    else:
        yield "source-positions", draw_positions(source, "source")
        yield "target-positions", draw_positions(target, "target")


def _draw_embeddings(translator: Translator, model: Transformer) -> Iterator[tuple[str, Figure]]:
    """Draw the table of each side; once where they share it."""
    source, target = translator.tokenizers.source, translator.tokenizers.target
    source_lang, target_lang = translator.source_lang, translator.target_lang
    if model.source_embedding.table is model.target_embedding.table:
        names = f"source and target, {source_lang} and {target_lang}"
        yield from _draw_table("embeddings", model.target_embedding, target, names)
    else:
        yield from _draw_table(
            "source-embeddings", model.source_embedding, source, f"source, {source_lang}"
        )
        yield from _draw_table(
            "target-embeddings", model.target_embedding, target, f"target, {target_lang}"
        )


def _draw_table(
    file_name: str, embedding: TokenEmbedding, tokenizer: Tokenizer, title: str
) -> Iterator[tuple[str, Figure]]:
    words = words_of(tokenizer)
    if words:
        vectors = embedding.table.weight.detach().float().cpu().numpy()[words]
        yield file_name, draw_embeddings(vectors, tokenizer.tokens(words), title)

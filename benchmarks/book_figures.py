"""The figures of the walk through the paper, from one translation by the demo's model: ``make figures``.

    python benchmarks/book_figures.py runs/demo-ro-en docs/images/book

The same model gives the same files, byte for byte. ``--text`` takes another sentence.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import torch
from book_diagrams import draw_architecture, draw_steps, draw_tokenizers
from book_drawings import (
    draw_add_and_norm,
    draw_attention_layer,
    draw_input,
    draw_large_positions,
    draw_likeness,
    draw_one_query,
    labels_of,
)
from matplotlib.figure import Figure

from interlingua.corpus.lines import read_lines
from interlingua.inspection.attention import draw_attention
from interlingua.inspection.canvas import write_figure
from interlingua.inspection.embeddings import draw_embeddings, words_of
from interlingua.inspection.heat_map import draw_heat_map
from interlingua.inspection.legible import label_of
from interlingua.inspection.positions import draw_positions, position_vectors
from interlingua.inspection.questions import HeadName
from interlingua.inspection.softmax_jacobian import draw_softmax_jacobian
from interlingua.inspection.steps import follow_steps, plain_transformer
from interlingua.inspection.trace import trace_translation
from interlingua.inspection.walk import walk_head, walk_input
from interlingua.tokenization.train import train_tokenizer
from interlingua.translator import Translator

TEXT = "Ai căutat cartea roșie."
WORDS = (
    "book",
    "books",
    "chair",
    "chairs",
    "park",
    "girl",
    "man",
    "red",
    "new",
    "old",
    "buys",
    "found",
)
"""Whole pieces of the demo's vocabulary."""
NUM_CROWD = 40
"""The most frequent words of the target, which are drawn at two positions."""


def figures(run: Path, text: str) -> Iterator[tuple[str, Figure]]:
    """Yield each figure with its name, in the order of the page."""
    translator = Translator.load(run, device="cpu", plain=True)
    model, tokenizer = plain_transformer(translator), translator.tokenizers.target
    trace = trace_translation(translator, text)
    source = labels_of(trace, "source")
    asks = min(3, len(source) - 1)
    yield "architecture", draw_architecture(model.architecture, trace, tokenizer.vocabulary_size)
    yield "steps", draw_steps(follow_steps(translator, trace))
    lines = [line for side in ("ro", "en") for line in read_lines(run / f"corpus/train.{side}")]
    kinds = {"word": 4000, "char": 400, "bpe": 1000}
    cut = {}
    for kind, size in kinds.items():
        own = train_tokenizer(lines, kind=kind, vocabulary_size=size)
        cut[kind] = own.tokens(own.encode(text).ids)
    yield "tokenizers", draw_tokenizers(text, cut)
    yield "input", draw_input(walk_input(translator, trace)[0], source)
    table = model.target_embedding.table.weight.detach().float().numpy()
    words = words_of(tokenizer)
    yield (
        "embeddings",
        draw_embeddings(table[words], tokenizer.tokens(words), "Romanian and English"),
    )
    known = {piece: id for id, piece in zip(words, tokenizer.tokens(words), strict=True)}
    chosen = [word for word in WORDS if f"▁{word}" in known]
    yield "likeness", draw_likeness(table[[known[f"▁{word}"] for word in chosen]], chosen)
    positions = position_vectors(model.source_embedding.positions, 128)
    yield "positions", draw_positions(positions, "sines and cosines")
    often = Counter(word for line in read_lines(run / "corpus/train.en") for word in line.split())
    crowd = [known[f"▁{word}"] for word, _ in often.most_common() if f"▁{word}" in known][
        :NUM_CROWD
    ]
    with torch.inference_mode():
        scaled = table[crowd] * model.target_embedding.scale
    names = [label_of(piece).removeprefix("▁") for piece in tokenizer.tokens(crowd)]
    yield "large-positions", draw_large_positions(scaled, positions[2], positions[12], names)
    first = walk_head(translator, trace, HeadName("encoder", layer=1, head=1))
    yield "one-query", draw_one_query(first, asks, source)
    masked = walk_head(translator, trace, HeadName("decoder", layer=1, head=1))
    target, read = labels_of(trace, "target"), labels_of(trace, "read")
    yield "attention-layer", draw_attention_layer(masked, target, read)
    yield "softmax-jacobian", draw_softmax_jacobian()
    for kind in ("encoder", "decoder", "cross"):
        yield f"{kind}-attention", draw_attention(trace, kind)
    yield "heat-map", draw_heat_map(trace)
    yield "add-and-norm", draw_add_and_norm(first, asks, source[asks])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="run folder of the demo")
    parser.add_argument("output", type=Path)
    parser.add_argument("--text", default=TEXT)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.output.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(asked.run, asked.text):
        print(write_figure(figure, asked.output / f"{name}.svg"))


if __name__ == "__main__":
    main()

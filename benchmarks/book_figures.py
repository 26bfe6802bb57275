"""The figures of the walk through the paper, from one translation by the demo's model: ``make figures``.

    python benchmarks/book_figures.py runs/demo-ro-en docs/images/book

What came before the Transformer is drawn from three small recurrent models, which it first trains on the demo's corpus, a few
minutes for all; they go into the folder of the demo's run, or into that of ``--recurrences``. The same models give the same files, byte for
byte. ``--text`` takes another sentence.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import torch
from book_diagrams import (
    draw_architecture,
    draw_corpus,
    draw_steps,
    draw_tokenizers,
    draw_two_translators,
)
from book_drawings import (
    draw_add_and_norm,
    draw_attention_layer,
    draw_exponentials,
    draw_input,
    draw_large_positions,
    draw_likeness,
    draw_one_query,
    labels_of,
)
from book_parts import (
    draw_batch,
    draw_dimensions,
    draw_encoder_layer,
    draw_feed_forward,
    draw_heads,
    draw_waves,
    walk_batch,
    walk_encoder_layer,
)
from book_predecessors import draw_cell, draw_costs, draw_passage, draw_unrolled
from book_recurrences import STEPS, read_sentence, recurrent_translator, write_sentence
from matplotlib.figure import Figure

from interlingua.batching.batch import pad_sources
from interlingua.corpus.lines import read_lines
from interlingua.corpus.pairs import CorpusFiles
from interlingua.inspection.attention import draw_attention
from interlingua.inspection.canvas import write_figure
from interlingua.inspection.embeddings import draw_embeddings, words_of
from interlingua.inspection.heat_map import draw_heat_map
from interlingua.inspection.legible import label_of
from interlingua.inspection.positions import draw_positions, position_vectors
from interlingua.inspection.questions import HeadName
from interlingua.inspection.softmax_jacobian import draw_softmax_jacobian
from interlingua.inspection.steps import follow_steps, plain_transformer
from interlingua.inspection.trace import Trace, trace_translation
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
COMPARED = ("book", "books", "chair", "red")
"""The first is multiplied with the others, number by number."""
SHORT = "Pisica era tristă?"
"""The second sentence of a batch."""
NUM_PAIRS = 5
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
    yield "exponentials", draw_exponentials(first, asks, source)
    masked = walk_head(translator, trace, HeadName("decoder", layer=1, head=1))
    target, read = labels_of(trace, "target"), labels_of(trace, "read")
    yield "attention-layer", draw_attention_layer(masked, target, read)
    yield "softmax-jacobian", draw_softmax_jacobian()
    for kind in ("encoder", "decoder", "cross"):
        yield f"{kind}-attention", draw_attention(trace, kind)
    yield "heat-map", draw_heat_map(trace)
    yield "add-and-norm", draw_add_and_norm(first, asks, source[asks])
    yield from parts_of_layers(translator, trace, asks)
    compared = [known[f"▁{word}"] for word in COMPARED if f"▁{word}" in known]
    names = [label_of(piece).removeprefix("▁") for piece in tokenizer.tokens(compared)]
    yield "dimensions", draw_dimensions(table[compared], names)
    yield "waves", draw_waves(positions[:64], (0, 20, 40, 80), (1, 2, 8, 32))
    yield "costs", draw_costs(model.architecture)
    yield "corpus", corpus_of(run)


def parts_of_layers(
    translator: Translator, trace: Trace, asks: int
) -> Iterator[tuple[str, Figure]]:
    """Yield the pictures of the encoder's own parts, and of a batch of two sentences."""
    model, tokenizer = plain_transformer(translator), translator.tokenizers.source
    labels = labels_of(trace, "source")
    source = torch.tensor([[token.id for token in trace.source_tokens]])
    layers = range(1, model.architecture.encoder_layers + 1)
    walks = [walk_encoder_layer(model, source, layer) for layer in layers]
    yield "heads", draw_heads(walks[0], labels)
    yield "feed-forward", draw_feed_forward(walks, labels)
    yield "encoder-layer", draw_encoder_layer(walks[0], asks, labels[asks])
    yield "two-translators", draw_two_translators(trace, walks[-1].out)
    pair = [tokenizer.encode(each).ids for each in (trace.source, SHORT)]
    batch = pad_sources(pair, pad=tokenizer.pad_id, end=tokenizer.end_id)
    names = [[label_of(piece) for piece in tokenizer.tokens(row)] for row in batch.tolist()]
    yield "batch", draw_batch(walk_batch(model, batch), names)


def predecessors(folder: Path, text: str, updates: int | None) -> Iterator[tuple[str, Figure]]:
    """Train the recurrent models, and yield the pictures of them."""
    for kind in STEPS:
        translator = recurrent_translator(kind, folder / f"book-{kind}", updates)
        reading, labels = read_sentence(translator, text)
        asks = min(3, len(labels) - 1)
        if kind == "rnn":
            yield "unrolled", draw_unrolled(reading, labels)
        else:
            yield f"{kind}-cell", draw_cell(reading, asks, labels)
        if kind == "lstm":
            yield "one-vector", draw_passage(write_sentence(translator, text))


def corpus_of(run: Path) -> Figure:
    """Draw the corpus of the demo's run."""
    files = CorpusFiles.in_folder(run / "corpus", "ro", "en")
    lines = [[list(read_lines(path)) for path in part] for part in files.parts]
    names = ("training", "validation", "test")
    sizes = {name: len(part[0]) for name, part in zip(names, lines, strict=True)}
    pairs = list(zip(*lines[2], strict=True))[:NUM_PAIRS]
    languages = ("Romanian", "English")
    lengths = {
        name: [len(line.split()) for line in side]
        for name, side in zip(languages, lines[0], strict=True)
    }
    return draw_corpus(sizes, pairs, lengths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="run folder of the demo")
    parser.add_argument("output", type=Path)
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--recurrences", type=Path, help="where recurrent models are trained")
    parser.add_argument("--updates", type=int, help="of each of these, to try the figures out")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.output.mkdir(parents=True, exist_ok=True)
    folder = asked.recurrences or asked.run.parent
    drawn = (figures(asked.run, asked.text), predecessors(folder, asked.text, asked.updates))
    for name, figure in chain.from_iterable(drawn):
        print(write_figure(figure, asked.output / f"{name}.svg"))


if __name__ == "__main__":
    main()

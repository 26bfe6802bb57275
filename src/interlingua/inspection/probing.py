"""What each encoder layer knows of a word, as far as a linear classifier can read it off.

Two questions are asked of the vectors of every layer, the embeddings being layer 0. *Order*: which of two words of a sentence comes
first, from the difference of their vectors; a half is chance. *Class*: the tag that a person gave a word; what can be known by the
word alone is the accuracy of its most frequent tag. A classifier with many numbers can learn anything by heart, so that
a third one learns tags that were drawn at random for each word (the control task): what a layer is said to know should be well above that.

Source: Alain and Bengio 2016, "Understanding intermediate layers using linear classifier probes"; Belinkov et al. 2017, "What do
Neural Machine Translation Models Learn about Morphology?"; Hewitt and Liang 2019, "Designing and Interpreting Probes with Control Tasks".
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional

from interlingua.batching.batch import pad_sources
from interlingua.decoding.held_model import evaluating
from interlingua.errors import ConfigError, CorpusError
from interlingua.inspection.canvas import figure_style
from interlingua.inspection.steps import plain_transformer
from interlingua.model.masks import padding_mask
from interlingua.translator import Translator

__all__ = ["LayerKnowledge", "Probed", "draw_probes", "probe_encoder"]

HELD_OUT = 5
"""One sentence of so many is not learnt from."""

_BATCH = 64
_NO_WORD = -1
"""Of a token that covers no character."""
_PAIRS_A_SENTENCE = 4
_PENALTY = 1e-4
_ITERATIONS = 100


@dataclass(frozen=True, slots=True)
class LayerKnowledge:
    """Shares of held-out cases that a linear classifier gets right."""

    layer: int
    """0 are the embeddings with their positions."""
    order: float
    word_class: float | None
    control: float | None


@dataclass(frozen=True, slots=True)
class Probed:
    """What all layers know, beside what can be known without them."""

    layers: tuple[LayerKnowledge, ...]
    most_frequent: float | None
    """Accuracy of the one tag that is most frequent."""
    by_word: float | None
    """Accuracy of the most frequent tag of each word, learnt from the same sentences."""
    sentences: int
    words: int


@dataclass(frozen=True, slots=True)
class _Words:
    """Every word of the text, one row each."""

    vectors: Float[Tensor, "N W D"]
    """Of each layer."""
    sentence: Int[np.ndarray, "W"]
    place: Int[np.ndarray, "W"]
    forms: list[str]
    tags: list[str] | None


def probe_encoder(
    translator: Translator,
    texts: Sequence[str],
    tags: Sequence[Sequence[str]] | None = None,
    *,
    seed: int = 1,
) -> Probed:
    """Ask what the layers of an encoder know of the words of ``texts``.

    Args:
        translator: a Transformer.
        texts: sentences; words are what stands between spaces.
        tags: one for each word of each text; None asks for the order only.
        seed: of the pairs of words and of the control's tags.

    Raises:
        ModelError: the model is no Transformer.
        CorpusError: a text has another number of words than of tags, or there are too few sentences.
    """
    if tags is not None:
        _check(texts, tags)
    words = _read_words(translator, texts, tags)
    draw = np.random.default_rng(seed)
    held_out = words.sentence % HELD_OUT == HELD_OUT - 1
    first, second = _draw_pairs(words.sentence, draw)
    is_first = torch.from_numpy((words.place[first] < words.place[second]).astype(np.int64))
    asked = torch.from_numpy(held_out[first])
    labels, control, known, by_word = None, None, None, None
    if words.tags is not None:
        labels = _numbers(words.tags)
        kinds = int(labels.max()) + 1
        drawn = {form: int(draw.integers(kinds)) for form in dict.fromkeys(words.forms)}
        control = torch.tensor([drawn[form] for form in words.forms])
        known, by_word = _without_vectors(words.forms, words.tags, held_out)
    out = torch.from_numpy(held_out)
    layers = []
    for number, vectors in enumerate(words.vectors):
        each = LayerKnowledge(
            number,
            _accuracy(vectors[first] - vectors[second], is_first, asked),
            None if labels is None else _accuracy(vectors, labels, out),
            None if control is None else _accuracy(vectors, control, out),
        )
        layers.append(each)
    return Probed(tuple(layers), known, by_word, len(texts), len(words.forms))


def draw_probes(probed: Probed) -> Figure:
    """Draw what is known against the layer."""
    with figure_style():
        figure = Figure(figsize=(7.0, 4.2))
        axes = figure.add_axes((0.11, 0.13, 0.62, 0.8))
        at = [each.layer for each in probed.layers]
        lines: dict[str, list[float | None]] = {
            "order of two words": [each.order for each in probed.layers],
            "word class": [each.word_class for each in probed.layers],
            "random classes (control)": [each.control for each in probed.layers],
        }
        for (label, values), marker in zip(lines.items(), "osx", strict=True):
            if None not in values:
                axes.plot(
                    at, [100 * (value or 0.0) for value in values], marker=marker, label=label
                )
        if probed.by_word is not None:
            axes.axhline(100 * probed.by_word, linestyle=":", label="class by the word alone")
        axes.axhline(50, linestyle="--", linewidth=0.8, label="order by chance")
        axes.set_xticks(at)
        axes.set_xlabel("encoder layer (0: embeddings)")
        axes.set_ylabel("right, held-out sentences (%)")
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=8)
    return figure


def _check(texts: Sequence[str], tags: Sequence[Sequence[str]]) -> None:
    if len(texts) != len(tags):
        raise CorpusError(
            f"there are {len(texts):,} lines of text and {len(tags):,} of tags; give one line of tags a line of text"
        )
    for number, (text, given) in enumerate(zip(texts, tags, strict=True), start=1):
        if len(text.split()) != len(given):
            raise CorpusError(
                f"line {number}: has {len(text.split())} words and {len(given)} tags; give one tag a word, where words "
                "are what stands between spaces"
            )
    if len({tag for given in tags for tag in given}) < 2:
        raise ConfigError("the tags are all the same; there is nothing to tell apart")


def _read_words(
    translator: Translator, texts: Sequence[str], tags: Sequence[Sequence[str]] | None
) -> _Words:
    """Run the encoder; a word is the mean of its tokens. Texts that are too long, or change their words, are left out."""
    tokenizer = translator.tokenizers.source
    can_tell = 0
    kept: list[tuple[int, list[int], list[int], list[str]]] = []
    for number, text in enumerate(texts):
        told, encoding = tokenizer.normalise(text), tokenizer.encode(text)
        if len(told.split()) != len(text.split()) or not encoding.ids:
            continue
        if len(encoding.ids) >= translator.max_source_length:
            continue
        can_tell += len(told.split()) > 1
        starts = [
            place
            for place, (a, b) in enumerate(pairwise(f" {told}"))
            if a.isspace() and not b.isspace()
        ]
        # A token's span may begin with the space before its word, so that its end tells which word it is of.
        last = [end - 1 for _, end in encoding.offsets]
        owners = (np.searchsorted(starts, last, side="right") - 1).clip(0)
        owners[[begin == end for begin, end in encoding.offsets]] = _NO_WORD  # a language's tag
        kept.append((number, encoding.ids, owners.tolist(), told.split()))
    if can_tell < 2 * HELD_OUT:
        raise CorpusError(
            f"{can_tell} of {len(texts)} lines are sentences of two words or more that the model can read, too few to "
            f"learn from some and ask about others; give {2 * HELD_OUT} at least"
        )
    vectors, sentences, places, forms, given = [], [], [], [], []
    for begin in range(0, len(kept), _BATCH):
        batch = kept[begin : begin + _BATCH]
        encoded = _encode(translator, [ids for _, ids, _, _ in batch])
        for row, (number, _, owner, words) in enumerate(batch):
            # Counted among those that are asked about: else all that are held out might be left out.
            nth = begin + row
            for word in sorted(set(owner) - {_NO_WORD}):
                of_word = [at for at, each in enumerate(owner) if each == word]
                vectors.append(encoded[:, row, of_word].mean(1))
                sentences.append(nth)
                places.append(word)
                forms.append(words[word])
                if tags is not None:
                    given.append(tags[number][word])
    return _Words(
        torch.stack(vectors, 1),
        np.array(sentences),
        np.array(places),
        forms,
        given if tags is not None else None,
    )


def _encode(translator: Translator, sources: list[list[int]]) -> Float[Tensor, "N B S D"]:
    """Return what goes into the first encoder layer, and what comes out of each."""
    model, tokenizer = plain_transformer(translator), translator.tokenizers.source
    padded = pad_sources(sources, pad=tokenizer.pad_id, end=tokenizer.end_id).to(translator.device)
    with evaluating(model), torch.inference_mode():
        x = model.source_embedding(padded)
        mask = padding_mask(padded, model.source_pad)[:, None, None]
        hidden = [x]
        for layer in model.encoder.layers:
            x = layer(x, mask)
            hidden.append(x)
    return torch.stack(hidden).float().cpu()


def _draw_pairs(
    sentence: Int[np.ndarray, "W"], draw: np.random.Generator
) -> tuple[Int[Tensor, "P"], Int[Tensor, "P"]]:
    """Return some pairs of different words of one sentence, in either order."""
    first, second = [], []
    for number in np.unique(sentence):
        rows = np.flatnonzero(sentence == number)
        for _ in range(_PAIRS_A_SENTENCE if len(rows) > 1 else 0):
            a, b = draw.choice(rows, 2, replace=False)
            first.append(int(a))
            second.append(int(b))
    return torch.tensor(first), torch.tensor(second)


def _numbers(tags: Sequence[str]) -> Int[Tensor, "W"]:
    numbers = {tag: number for number, tag in enumerate(sorted(set(tags)))}
    return torch.tensor([numbers[tag] for tag in tags])


def _without_vectors(
    forms: Sequence[str], tags: Sequence[str], held_out: np.ndarray
) -> tuple[float, float]:
    """Return how often the most frequent tag is right, and how often the most frequent of the word."""
    all_tags: Counter[str] = Counter()
    of_form: dict[str, Counter[str]] = {}
    for form, tag, is_out in zip(forms, tags, held_out, strict=True):
        if not is_out:
            all_tags[tag] += 1
            of_form.setdefault(form, Counter())[tag] += 1
    usual = all_tags.most_common(1)[0][0]
    asked = [(f, t) for f, t, is_out in zip(forms, tags, held_out, strict=True) if is_out]
    guesses = [of_form[f].most_common(1)[0][0] if f in of_form else usual for f, _ in asked]
    return (
        float(np.mean([tag == usual for _, tag in asked])),
        float(np.mean([guess == tag for guess, (_, tag) in zip(guesses, asked, strict=True)])),
    )


def _accuracy(x: Float[Tensor, "P D"], labels: Int[Tensor, "P"], held_out: Tensor) -> float:
    """Learn a linear classifier of the cases that are not held out; return the share of the others that it gets right."""
    learnt = x[~held_out]
    mean, deviation = learnt.mean(0), learnt.std(0).clamp_min(1e-6)
    train, test = (learnt - mean) / deviation, (x[held_out] - mean) / deviation
    kinds = int(labels.max()) + 1
    weight = torch.zeros(kinds, x.size(1), requires_grad=True)
    bias = torch.zeros(kinds, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias], max_iter=_ITERATIONS, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(functional.linear(train, weight, bias), labels[~held_out])
        loss = loss + _PENALTY * weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    with torch.inference_mode(False), torch.enable_grad():
        optimizer.step(closure)  # type: ignore[no-untyped-call]
    right = functional.linear(test, weight, bias).argmax(1) == labels[held_out]
    return float(right.float().mean().detach())

"""The proof of an export: the same sentences through both programs, greedily and with a beam.

**To add a format**, write a module that offers what :class:`Exporter` lists, and name it in ``export.exporter_of``:
``write`` makes the files, ``runtime`` opens them in the program that they are for and returns a function from
sentences to what that program writes. All else is done here and in ``export``: reading the model, refusing, comparing,
the card, and leaving nothing behind when the two disagree.

What is compared, for each way of searching:

* the tokens: how many of them are the same, as a share of the longer text (longest common subsequence);
* the score: what that program says a target is worth, against what our model gives the same target;
* the text, where that program has a tokenizer of its own;
* BLEU, of both, against the references if there are any.

In single precision every token must be the same. Two programs add in different orders, so a decision narrower than
rounding (``NEAR_TIE`` nats) may fall either way; such sentences are counted and listed, not forgiven in silence.
"""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch

from interlingua.batching.batch import pad_sources
from interlingua.checkpoints.model_folder import LoadedModel
from interlingua.decoding.next_token import never_written
from interlingua.errors import ConfigError, ExportError, how_to_install
from interlingua.evaluation.metrics import choose_tokenizer, corpus_bleu, score
from interlingua.evaluation.sequence_metrics import longest_common_subsequence
from interlingua.interop.plain_search import Found, plain_search

__all__ = [
    "BEAM_SIZE",
    "NEAR_TIE",
    "Comparison",
    "Exporter",
    "Output",
    "Proof",
    "Runtime",
    "Sentence",
    "prove",
    "refuse_without_runtime",
]

NEAR_TIE = 1e-5
"""Nats a token: what rounding in single precision can turn."""

BEAM_SIZE = 4
_LONGEST = 200
"""Tokens written at most in a proof, the end symbol included; a model in training may never end."""

_AT_ONCE = 50
"""Sentences translated side by side here: enough to be quick, little to hold."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A source sentence, for a runtime that wants the text or for one that wants the tokens."""

    text: str
    ids: tuple[int, ...]
    """Source ids, without the end symbol."""
    tokens: tuple[str, ...]
    """The same as pieces."""
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """What a runtime made of one sentence."""

    tokens: tuple[str, ...]
    """Target pieces, without the begin and end symbols."""
    score: float | None
    """Sum of the natural logarithms of the probabilities of ``tokens`` and of the end symbol, not divided by any
    length; None where the runtime does not tell."""
    text: str | None = None
    """Where the runtime makes text by itself; None where it only knows tokens."""


Runtime = Callable[[Sequence[Sentence], int, int], list[Output]]
"""(sentences, beam size, most tokens to write with the end symbol) -> the best output of each, in order.

The search is without a length penalty (or with one of 0), and 1 is greedy search.
"""


@runtime_checkable
class Exporter(Protocol):
    """What the module of a format offers; modules are the only implementations.

    ``ctranslate2_export`` is an example. The constants need the types that stand here.
    """

    PROGRAM: str
    """The name of the program that the format is for."""
    PRECISIONS: Mapping[str, float]
    """What ``--quantization`` takes, and the share of equal tokens that each must reach; the first is the default."""
    PACKAGES: tuple[str, ...]
    """What must be importable to write and prove: the extra ``export`` installs it."""
    NEVER_WRITTEN: bool
    """Whether the runtime is told never to write the padding and the begin symbol."""

    def write(self, loaded: LoadedModel, folder: Path, quantization: str) -> None:
        """Write the files of the format into ``folder``, which is there and empty.

        Raises:
            ExportError: the format cannot hold this model, and why; before anything is written.
        """
        ...

    def runtime(self, folder: Path) -> Runtime:
        """Open what ``write`` wrote, in the program that it is for, on one CPU thread."""
        ...

    def usage(self, loaded: LoadedModel, folder: Path) -> str:
        """Return the Markdown that tells how to use the folder; it becomes part of the card."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both programs on the same sentences, searched in one way."""

    beam_size: int
    agreement: float
    """Share of equal tokens, 0 to 1."""
    same: int
    """Sentences with the same tokens."""
    near_ties: tuple[int, ...]
    """Numbers of the other sentences whose search had a decision that rounding could turn, the first is 1."""
    different: tuple[int, ...]
    """Numbers of the remaining sentences."""
    score_difference: float | None
    """The largest, in nats a token."""
    texts_differ: int
    """Outputs whose text is not what our tokenizer makes of their tokens."""
    bleu: float | None
    """Of our output against the references."""
    bleu_there: float
    """Of the other program's output, against the references or else against our output."""

    @property
    def bleu_difference(self) -> float:
        """How much BLEU is lost on the way; without references, how far the texts are apart."""
        return self.bleu_there - (100.0 if self.bleu is None else self.bleu)


@dataclass(frozen=True, slots=True)
class Proof:
    """What the comparison came to."""

    program: str
    precision: str
    sentences: int
    threshold: float
    """Share of equal tokens that the precision must reach."""
    comparisons: tuple[Comparison, ...]
    signature: str = ""
    """How sacreBLEU counted, without which BLEU says little; empty where there are no references."""

    def failure(self) -> str | None:
        """Say what is below the threshold, or None."""
        for each in self.comparisons:
            how = "greedily" if each.beam_size == 1 else f"with a beam of {each.beam_size}"
            if each.texts_differ:
                return f"{each.texts_differ} outputs become another text there than here ({how})"
            exact = self.threshold >= 1.0
            if exact and each.different:
                return (
                    f"sentence {each.different[0]} ({len(each.different)} in all) is translated "
                    f"otherwise there ({how})"
                )
            if not exact and each.agreement < self.threshold:
                return (
                    f"{each.agreement:.2%} of the tokens are the same ({how}), and {self.precision} "
                    f"must reach {self.threshold:.0%}"
                )
        return None

    def to_dict(self) -> dict[str, object]:
        """Give every figure by name."""
        told = asdict(self)
        for each, comparison in zip(told["comparisons"], self.comparisons, strict=True):
            each["bleu_difference"] = comparison.bleu_difference
        return told

    def to_markdown(self) -> str:
        """Write the table of the card."""
        lines = [
            f"{self.sentences:,} sentences through Interlingua and through {self.program}, {self.precision}; "
            f"at least {self.threshold:.0%} of the tokens had to be the same.",
            "",
            "| search | same tokens | same sentences | near-ties | largest score difference a token | BLEU here | BLEU there |",
            "|---|---|---|---|---|---|---|",
        ]
        for each in self.comparisons:
            search = "greedy" if each.beam_size == 1 else f"beam {each.beam_size}"
            score = "not told" if each.score_difference is None else f"{each.score_difference:.1e}"
            here = "no references" if each.bleu is None else f"{each.bleu:.2f}"
            against = " (against ours)" if each.bleu is None else ""
            lines.append(
                f"| {search} | {each.agreement:.2%} | {each.same:,} | {len(each.near_ties)} | {score} "
                f"| {here} | {each.bleu_there:.2f}{against} |"
            )
        if self.signature:
            lines += ["", f"BLEU is sacreBLEU's, {self.signature}."]
        ties = sorted({number for each in self.comparisons for number in each.near_ties})
        if ties:
            lines += ["", f"Near-ties, by number of sentence: {', '.join(map(str, ties))}."]
        return "\n".join(lines) + "\n"


def refuse_without_runtime(exporter: Exporter, name: str) -> None:
    """Raise a ConfigError if a package is missing that the format is written or proved with."""
    for package in exporter.PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"--format {name}: needs the package {package}, which is not installed; "
                f"{how_to_install('export')}"
            )


def prove(
    loaded: LoadedModel,
    exporter: Exporter,
    folder: Path,
    precision: str,
    pairs: Sequence[tuple[str, str | None]],
) -> Proof:
    """Translate ``pairs`` (source, reference or None) here and there, and compare.

    Raises:
        ExportError: no sentence has a token, or the runtime gives back fewer outputs than it was given sentences.
    """
    sentences = [each for each in (_read(loaded, *pair) for pair in pairs) if each.ids]
    if not sentences:
        raise ExportError("no sentence to prove the export with has any token; give --verify FILE")
    runtime = exporter.runtime(folder)
    comparisons = []
    for beam_size in (1, BEAM_SIZE):
        most = min(_LONGEST, loaded.max_length)
        there = runtime(sentences, beam_size, most)
        if len(there) != len(sentences):
            raise ExportError(
                f"{exporter.PROGRAM} gave {len(there)} outputs for {len(sentences)} sentences"
            )
        here = _search(loaded, sentences, exporter.NEVER_WRITTEN, beam_size, most)
        comparisons.append(_compare(loaded, sentences, here, there, beam_size, most))
    return Proof(
        exporter.PROGRAM,
        precision,
        len(sentences),
        exporter.PRECISIONS[precision],
        tuple(comparisons),
        signature=_signature(loaded, sentences),
    )


def _read(loaded: LoadedModel, text: str, reference: str | None) -> Sentence:
    tokenizer = loaded.tokenizers.source
    ids = tokenizer.encode_batch([text])[0][: loaded.max_length - 1]
    return Sentence(text, tuple(ids), tuple(tokenizer.tokens(ids)), reference)


def _search(
    loaded: LoadedModel, sentences: Sequence[Sentence], never: bool, beam_size: int, most: int
) -> list[Found]:
    target = loaded.tokenizers.target
    banned = never_written(target.pad_id, target.begin_id, target.end_id, "cpu").tolist()
    order = sorted(range(len(sentences)), key=lambda place: -len(sentences[place].ids))
    found: dict[int, Found] = {}
    with torch.inference_mode():
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            results = plain_search(
                loaded.model,
                _pad(loaded, [sentences[place] for place in places]),
                begin_id=target.begin_id,
                end_id=target.end_id,
                never=banned if never else (),
                beam_size=beam_size,
                max_length=most,
            )
            found |= zip(places, results, strict=True)
    return [found[place] for place in range(len(sentences))]


def _pad(loaded: LoadedModel, sentences: Sequence[Sentence]) -> torch.Tensor:
    source = loaded.tokenizers.source
    ids = [list(each.ids) for each in sentences]
    return pad_sources(ids, pad=source.pad_id, end=source.end_id)


def _compare(
    loaded: LoadedModel,
    sentences: Sequence[Sentence],
    here: Sequence[Found],
    there: Sequence[Output],
    beam_size: int,
    most: int,
) -> Comparison:
    tokenizer = loaded.tokenizers.target
    equal = longer = texts_differ = 0
    near_ties: list[int] = []
    different: list[int] = []
    scores: list[float] = []
    outputs: list[tuple[str, str]] = []
    ids_of = _ids_by_piece(loaded)
    for number, (sentence, ours, theirs) in enumerate(zip(sentences, here, there, strict=True), 1):
        tokens = tuple(tokenizer.tokens(list(ours.ids)))
        # The end symbol counts as a token, so that two empty outputs agree.
        equal += longest_common_subsequence(tokens, theirs.tokens) + 1
        longer += max(len(tokens), len(theirs.tokens)) + 1
        if tokens != theirs.tokens:
            is_tie = ours.margin <= NEAR_TIE * (len(tokens) + 1)
            (near_ties if is_tie else different).append(number)
        ids = [ids_of.get(token, tokenizer.unknown_id) for token in theirs.tokens]
        text = tokenizer.decode(ids)
        texts_differ += theirs.text is not None and theirs.text.strip() != text.strip()
        outputs.append((tokenizer.decode(list(ours.ids)), theirs.text or text))
        if theirs.score is not None:
            worth = _score(loaded, sentence, ids, most)
            scores.append(abs(worth - theirs.score) / (len(ids) + 1))
    bleu, bleu_there = _bleu(loaded, sentences, outputs)
    return Comparison(
        beam_size=beam_size,
        agreement=equal / longer,
        same=len(sentences) - len(near_ties) - len(different),
        near_ties=tuple(near_ties),
        different=tuple(different),
        score_difference=max(scores, default=None),
        texts_differ=texts_differ,
        bleu=bleu,
        bleu_there=bleu_there,
    )


def _ids_by_piece(loaded: LoadedModel) -> dict[str, int]:
    tokenizer = loaded.tokenizers.target
    return {piece: number for number, piece in enumerate(tokenizer.all_tokens())}


def _score(loaded: LoadedModel, sentence: Sentence, ids: list[int], most: int) -> float:
    """Return what our model gives a target, by teacher forcing; one that was cut off has no end symbol."""
    target = loaded.tokenizers.target
    wanted = [*ids, target.end_id] if len(ids) < most else ids
    with torch.inference_mode():
        memory = loaded.model.encode(_pad(loaded, [sentence]))
        logits = loaded.model.decode(torch.tensor([[target.begin_id, *wanted[:-1]]]), memory)
        log_probs = logits[0].double().log_softmax(-1)
    return float(log_probs[torch.arange(len(wanted)), torch.tensor(wanted)].sum())


def _bleu(
    loaded: LoadedModel, sentences: Sequence[Sentence], outputs: Sequence[tuple[str, str]]
) -> tuple[float | None, float]:
    ours, theirs = [here for here, _ in outputs], [there for _, there in outputs]
    cut = choose_tokenizer(loaded.target_lang)
    if any(sentence.reference is None for sentence in sentences):
        # BLEU counts four words in a row, of which short texts have none: what is equal is not 0 for that.
        return None, 100.0 if ours == theirs else corpus_bleu(theirs, [ours], tokenize=cut)
    references = [[sentence.reference or "" for sentence in sentences]]
    return (
        corpus_bleu(ours, references, tokenize=cut),
        corpus_bleu(theirs, references, tokenize=cut),
    )


def _signature(loaded: LoadedModel, sentences: Sequence[Sentence]) -> str:
    texts = [sentence.reference for sentence in sentences if sentence.reference is not None]
    if len(texts) < len(sentences):
        return ""
    return score(texts, [texts], ("bleu",), target_lang=loaded.target_lang)[0].signature

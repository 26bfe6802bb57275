"""What a model does, as an examination sees it: whether it reads its source, its heads look, and its outputs are text."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from torch import Tensor, nn

from interlingua.batching.batch import Batch, batch_for
from interlingua.corpus.findings import Finding
from interlingua.corpus.pairs import SentencePair
from interlingua.decoding.protocol import TeacherForcedModel
from interlingua.decoding.score import score_pairs
from interlingua.errors import InterlinguaError
from interlingua.evaluation.health import check_health
from interlingua.examination.attention_health import examine_heads
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.translator import Translator

__all__ = ["examine_behaviour"]

_PSEUDO_SOURCES, _PSEUDO_LENGTH = 16, 8
_FEW_SOURCES = 5
"""Of fewer different sources nobody can say that all outputs are the same."""
_IGNORED, _HARDLY_READ = 0.02, 0.1
"""Nats a token that the right source must be worth, against that of another pair."""
_MOSTLY_UNKNOWN, _OFTEN_UNKNOWN = 0.5, 0.05
_MANY, _SOME = 0.2, 0.05
"""Shares of the outputs with a fault, from which it is an error, and a warning."""
_TRAIN_ON = (
    "train longer; if it stays so, lower training.peak_learning_rate or raise training.warmup_steps"
)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Pairs as the model reads them."""

    sources: list[list[int]]
    targets: list[list[int]]


def examine_behaviour(translator: Translator, pairs: Sequence[SentencePair]) -> list[Finding]:
    """Try the model on ``pairs``, or without any on sequences of tokens drawn by chance."""
    found: list[Finding] = []
    pairs = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    found += _examine_vocabulary("source", translator.tokenizers.source, [p.source for p in pairs])
    found += _examine_vocabulary("target", translator.tokenizers.target, [p.target for p in pairs])
    try:
        if pairs:
            found += _examine_outputs(translator, pairs)
            trial = _read(translator, pairs)
        else:
            trial = _draw(translator)
            found += _examine_drawn(trial)
        if isinstance(translator.model, nn.Module) and isinstance(
            translator.model, TeacherForcedModel
        ):
            found += _examine_scores(translator, trial, has_text=bool(pairs))
            found += examine_heads(translator, _batch(translator, trial.sources, trial.targets))
    except InterlinguaError as error:
        found.append(
            Finding(
                "nan-outputs", "error", (), f"The model fails as it translates: {error}", _TRAIN_ON
            )
        )
    return found


def _examine_vocabulary(side: str, tokenizer: Tokenizer, texts: Sequence[str]) -> list[Finding]:
    """Tell how much of the text the vocabulary does not have: unknown, or spelled out in bytes."""
    ids = [number for row in tokenizer.encode_batch(list(texts)) for number in row]
    if not ids:
        return []
    unknown = sum(number == tokenizer.unknown_id for number in ids) / len(ids)
    pieces = dict(zip(sorted(set(ids)), tokenizer.tokens(sorted(set(ids))), strict=True))
    spelled = sum(_is_byte(pieces[number]) for number in ids) / len(ids)
    share = max(unknown, spelled)
    if share < _OFTEN_UNKNOWN:
        return []
    how = "is unknown to the vocabulary" if unknown >= spelled else "is spelled out in single bytes"
    return [
        Finding(
            "unknown-vocabulary",
            "error" if share >= _MOSTLY_UNKNOWN else "warning",
            (),
            f"{share:.0%} of the {side} tokens {how}: the tokenizer was trained on text of another language, script or "
            "form, and the model cannot tell these words apart.",
            "give text like that of the training; or train again, with a vocabulary learnt from such text",
        )
    ]


def _is_byte(piece: str) -> bool:
    return len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")


def _examine_outputs(translator: Translator, pairs: Sequence[SentencePair]) -> list[Finding]:
    """Translate the sources greedily and look at what comes out."""
    sources = [pair.source for pair in pairs]
    results = translator.translate(sources, beam_size=1)
    outputs = [" ".join(result.text.split()) for result in results]
    health = check_health(outputs, [[pair.target for pair in pairs]], sources, tokenize="none")
    found = []
    if len(set(sources)) >= _FEW_SOURCES and len(set(outputs)) == 1:
        found.append(_same_output(len(set(sources)), outputs[0]))
    faults = (
        ("empty-outputs", health.empty, "are empty", 1.0),
        ("repeating-outputs", health.repeating, "repeat a phrase three times in a row", 1.0),
        ("copied-outputs", health.copied or (), "are the source itself", 2.5),
        (
            "unfinished-outputs",
            tuple(n for n, result in enumerate(results, 1) if result.stopped == "max_length"),
            "were cut off, as the model did not end them",
            1.5,
        ),
    )
    for code, lines, words, patience in faults:
        share = len(lines) / len(outputs) / patience
        if share < _SOME:
            continue
        shown = f"; for example {outputs[lines[0] - 1][:80]!r} of {sources[lines[0] - 1][:80]!r}"
        found.append(
            Finding(
                code,
                "error" if share >= _MANY else "warning",
                (),
                f"{len(lines)} of {len(outputs)} translations {words}{shown}.",
                _TRAIN_ON,
            )
        )
    return found


def _same_output(number: int, output: str) -> Finding:
    return Finding(
        "same-output",
        "error",
        (),
        f"{number} different sources have one translation, {output[:80]!r}: the model does not use what it reads.",
        _TRAIN_ON,
    )


def _read(translator: Translator, pairs: Sequence[SentencePair]) -> _Trial:
    room = translator.max_source_length - 1
    sides = (
        translator.tokenizers.source.encode_batch([pair.source for pair in pairs]),
        translator.tokenizers.target.encode_batch([pair.target for pair in pairs]),
    )
    kept = [(a[:room], b[:room]) for a, b in zip(*sides, strict=True) if a and b]
    return _Trial([a for a, _ in kept], [b for _, b in kept])


def _draw(translator: Translator) -> _Trial:
    """Draw sources from the vocabulary by chance, and let the model write their targets."""
    tokenizer = translator.tokenizers.source
    special = {tokenizer.pad_id, tokenizer.unknown_id, tokenizer.begin_id, tokenizer.end_id}
    every = list(range(tokenizer.vocabulary_size))
    usable = [
        number
        for number, piece in zip(every, tokenizer.tokens(every), strict=True)
        if number not in special and not _is_byte(piece)
    ] or [number for number in every if number not in special]
    chance = Random(1)
    length = min(_PSEUDO_LENGTH, translator.max_source_length - 1)
    sources = [
        [usable[int(chance.random() * len(usable))] for _ in range(length)]
        for _ in range(_PSEUDO_SOURCES)
    ]
    targets = _continue_greedily(translator, sources)
    return _Trial(sources, targets)


def _examine_drawn(trial: _Trial) -> list[Finding]:
    """Look at what the model makes of nonsense: that should differ from source to source, and be something."""
    written = [tuple(ids) for ids in trial.targets]
    if not any(written):
        return [
            Finding(
                "empty-outputs",
                "error",
                (),
                f"All {len(written)} sources that were drawn by chance have an empty translation.",
                _TRAIN_ON,
            )
        ]
    sources = len({tuple(ids) for ids in trial.sources})
    if len(set(written)) == 1 and sources >= _FEW_SOURCES:
        return [_same_output(sources, f"{len(written[0])} tokens")]
    return []


def _continue_greedily(translator: Translator, sources: list[list[int]]) -> list[list[int]]:
    from interlingua.decoding.greedy import greedy_search

    target = translator.tokenizers.target
    batch = _batch(translator, sources, [[] for _ in sources])
    with torch.inference_mode():
        found = greedy_search(
            translator.model,
            batch.source,
            symbols=target.symbols,
            max_lengths=[min(2 * len(ids) + 4, translator.max_source_length) for ids in sources],
            alpha=0.6,
        )
    return [[number for number in each.ids if number != target.end_id] for each in found]


def _examine_scores(translator: Translator, trial: _Trial, *, has_text: bool) -> list[Finding]:
    """Score the targets with their own sources and with those of other pairs, and with chance."""
    if len({tuple(ids) for ids in trial.sources}) < 2:
        return []
    own = _score(translator, trial.sources, trial.targets)
    others = _score(translator, _turned(trial.sources), trial.targets)
    tokens = sum(len(ids) + 1 for ids in trial.targets)
    found = []
    chance = float(np.log(translator.tokenizers.target.vocabulary_size))
    if has_text and -own / tokens > chance:
        found.append(
            Finding(
                "worse-than-chance",
                "error",
                (),
                f"The model gives the right translations {-own / tokens:.2f} nats a token; to guess blindly would cost "
                f"{chance:.2f}. Its weights are damaged, or its tokenizer is that of another model.",
                "put back the tokenizer and the weights that belong together: copy the folder again",
            )
        )
    gain = (own - others) / tokens
    if gain < _HARDLY_READ:
        found.append(_ignored(gain))
    return found


def _ignored(gain: float) -> Finding:
    how = "ignores its source" if gain < _IGNORED else "hardly reads its source"
    return Finding(
        "ignores-source",
        "error" if gain < _IGNORED else "warning",
        (),
        f"The decoder {how}: with the source of another sentence a target is as likely as with its own (the right one "
        f"is worth {gain:.3f} nats a token).",
        f"{_TRAIN_ON}; see that line N of the target translates line N of the source: interlingua doctor --source FILE "
        "--target FILE",
    )


def _turned(sources: list[list[int]]) -> list[list[int]]:
    """Give every pair the source of another of like length, so that length alone tells nothing."""
    order = sorted(range(len(sources)), key=lambda place: (len(sources[place]), place))
    turned: list[list[int]] = [[]] * len(sources)
    for place, following in zip(order, [*order[1:], order[0]], strict=True):
        turned[place] = sources[following]
    return turned


def _score(translator: Translator, sources: list[list[int]], targets: list[list[int]]) -> float:
    """Return the log-probability of all targets together."""
    batch = _batch(translator, sources, targets)
    pad = translator.tokenizers.target.pad_id
    with torch.inference_mode():
        scores: Tensor = score_pairs(
            translator.model, batch.source, batch.target_in, batch.target_out, pad_id=pad
        )
    return float(scores.double().sum())


def _batch(translator: Translator, sources: list[list[int]], targets: list[list[int]]) -> Batch:
    return batch_for(
        translator.tokenizers,
        sources,
        targets,
        range(len(sources)),
    ).to(translator.device)

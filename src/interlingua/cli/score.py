"""The ``score`` command: what a model thinks of given translations."""

import math
from pathlib import Path

from interlingua.cli.flags import MachineFlags
from interlingua.cli.streams import note, open_output, print_json, read_aligned
from interlingua.errors import ConfigError

__all__ = ["score"]

_MACHINE = MachineFlags()


def score(
    model: Path,
    *,
    source: Path,
    target: Path,
    output: str = "-",
    json: bool = False,
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Tell how likely given translations are, line by line: log-probability, per token, perplexity.

    Args:
        model: run folder or model folder.
        source: source text, one sentence a line.
        target: its translation, line by line.
        output: file to write, which appears whole or not at all; - is standard output.
        json: one JSON object with all pairs and the totals, on standard output.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    if json and output != "-":
        raise ConfigError("--json goes to standard output; leave out --output")
    sources, (targets,) = read_aligned(source, [target], output)
    from interlingua.translator import Translator

    with open_output(output) as write:
        translator = Translator.load(model, device=machine.device, threads=machine.threads, to=to)
        scores = translator.score(list(zip(sources, targets, strict=True)))
        for each in scores if not json else ():
            write(f"{each.log_probability:.6f}\t{each.per_token:.6f}\t{each.perplexity:.4f}\n")
    tokens = sum(len(each.log_probabilities) for each in scores)
    total = math.fsum(each.log_probability for each in scores)
    perplexity = math.exp(min(-total / tokens, 700.0))
    if cut := sum(each.truncated for each in scores):
        note(
            f"{cut:,} pairs are longer than the model reads, and only their beginnings were scored"
        )
    if json:
        pairs = [
            {
                "log_probability": each.log_probability,
                "per_token": each.per_token,
                "perplexity": each.perplexity,
                "log_probabilities": each.log_probabilities,
            }
            for each in scores
        ]
        print_json({"pairs": pairs, "tokens": tokens, "perplexity": perplexity})
        return
    note(f"{len(scores):,} pairs, {tokens:,} tokens, perplexity {perplexity:.4f}")

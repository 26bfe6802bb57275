"""The ``clean`` command: drop the pairs of a corpus that would harm a model."""

from pathlib import Path

from interlingua.cli.flags import PartsFlags, RuleFlags
from interlingua.cli.parts import plain_parts
from interlingua.cli.streams import note, say
from interlingua.errors import ConfigError

__all__ = ["clean"]

_PARTS, _RULES = PartsFlags(), RuleFlags()


def clean(
    *,
    parts: PartsFlags = _PARTS,
    output: Path | None = None,
    rule: RuleFlags = _RULES,
    dropped: Path | None = None,
    repaired: Path | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Repair pairs of a corpus, and drop those that would harm a model: both sides, never one.

    Rules: empty, encoding, copied, length-ratio, long-line, number-mismatch, mixed-script, wrong-language,
    swapped-sides, leakage, duplicate, near-duplicate. The rule encoding first repairs what it can: entities, wrong
    decodings, control characters, tags, spaces. The pairs that stay keep their order, and every byte that was not repaired.

    Args:
        output: folder for two cleaned files of lines, dropped.tsv (line numbers of dropped pairs, and why) and repaired.jsonl
            (repaired lines before and after).
        dropped: file for the numbers of dropped pairs instead of dropped.tsv; also written in a dry run.
        repaired: file for the repaired lines instead of repaired.jsonl; also written in a dry run.
        dry_run: tell what would go, and write no corpus.
        json: print the report as JSON.
    """
    from interlingua.corpus.cleaning import DEFAULT_RULES, RULES, CleaningJob, clean_corpus
    from interlingua.corpus.pair_rules import Limits

    if rule.max_ratio <= 1 or rule.max_characters < 1 or rule.max_words < 1:
        raise ConfigError("--max-ratio must be above 1, --max-characters and --max-words above 0")
    chosen = _split(rule.rules) if rule.rules is not None else DEFAULT_RULES
    left_out = _split(rule.without or "")
    if unknown := set(left_out) - set(RULES):
        raise ConfigError(f"rule {min(unknown)!r} is none of {', '.join(RULES)}")
    with plain_parts(parts, "clean") as (training, held_out):
        job = CleaningJob(
            training,
            output,
            rules=tuple(name for name in chosen if name not in left_out),
            limits=Limits(rule.max_ratio, rule.max_characters, rule.max_words),
            repair=not rule.no_repair,
            held_out=tuple(held_out.values()),
            dropped=dropped,
            repaired=repaired,
            dry_run=dry_run,
            identify_languages=rule.identify_languages,
        )
        for part in (training, *held_out.values()):
            for remark in part.remarks:
                note(remark)
        cleaned = clean_corpus(job)
    if not cleaned.kept:
        note("no pair is left; interlingua doctor tells more of what is wrong with the corpus")
    say(cleaned.to_json() if json else cleaned.to_text())


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())

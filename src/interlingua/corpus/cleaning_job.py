"""What is to be cleaned, by which rules, and where to."""

from dataclasses import dataclass, field
from pathlib import Path

from interlingua.corpus.pair_rules import BITS, CODES, Limits
from interlingua.corpus.plain_sides import PlainSides
from interlingua.errors import ConfigError, OutputError
from interlingua.files import refuse_to_write_over

__all__ = ["DEFAULT_RULES", "RULES", "CleaningJob"]

RULES = (
    *dict.fromkeys(CODES.get(fault, fault) for fault in BITS),
    "swapped-sides",
    "leakage",
    "duplicate",
    "near-duplicate",
)
"""All rules, by the codes of the findings; a pair goes by the first rule in this order that it breaks."""

DEFAULT_RULES = tuple(rule for rule in RULES if rule != "number-mismatch")
"""The rules that apply when none are named: half of the pairs whose numbers differ say the same in words."""


@dataclass(frozen=True, slots=True)
class CleaningJob:
    """What is to be cleaned, by which rules.

    Attributes:
        corpus: the corpus.
        output: folder for the two cleaned files, under the names that they have, ``dropped.tsv`` and ``repaired.jsonl``.
        rules: the rules that apply.
        limits: where a pair begins to be a fault.
        repair: where the rule ``encoding`` applies, mend first what can be mended, and drop what is still damaged.
        held_out: validation and test; pairs with a source of theirs leak.
        dropped: file for the numbers of the dropped lines; ``dropped.tsv`` in ``output`` by default.
        repaired: file for what was changed; ``repaired.jsonl`` in ``output`` by default.
        dry_run: look, and write none of the cleaned files.
        identify_languages: look for lines in another language, which takes longer than all the rest.
    """

    corpus: PlainSides
    output: Path | None
    rules: tuple[str, ...] = DEFAULT_RULES
    limits: Limits = field(default_factory=Limits)
    repair: bool = True
    held_out: tuple[PlainSides, ...] = ()
    dropped: Path | None = None
    repaired: Path | None = None
    dry_run: bool = False
    identify_languages: bool = False

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is read.

        Raises:
            ConfigError: an unknown rule, ``leakage`` without files that could leak, or nowhere to write to.
            OutputError: the output is the input, or a file.
        """
        unknown = [rule for rule in self.rules if rule not in RULES]
        if unknown:
            raise ConfigError(f"rule {unknown[0]!r} is none of {', '.join(RULES)}")
        if not self.rules:
            raise ConfigError(f"no rule is left; name some of {', '.join(RULES)}")
        if self.rules == ("swapped-sides",) and not self.identify_languages:
            raise ConfigError("the rule swapped-sides needs --identify-languages")
        if self.rules == ("leakage",) and not self.held_out:
            raise ConfigError(
                "the rule leakage needs what could leak: --test-source and --test-target, or --valid-..."
            )
        if self.output is None and not self.dry_run:
            raise ConfigError(
                "nowhere to write to; give --output FOLDER, or --dry-run to look only"
            )
        if self.output is not None and not self.dry_run and self.output.is_file():
            raise OutputError(f"{self.output}: is a file; give the name of a folder")
        if self.repaired is not None and not self.repairs:
            raise ConfigError(
                "--repaired lists what is repaired; leave out --no-repair, and let the rule encoding apply"
            )
        refuse_to_write_over(
            (path for part in (self.corpus, *self.held_out) for path in part.named),
            (*self.outputs, *filter(None, [self.dropped_file, self.repaired_file])),
        )

    @property
    def repairs(self) -> bool:
        """Whether anything is mended."""
        return self.repair and "encoding" in self.rules

    @property
    def outputs(self) -> tuple[Path, ...]:
        """The two cleaned files, or none in a dry run."""
        if self.output is None or self.dry_run:
            return ()
        names = [self.corpus.source.name, self.corpus.target.name]
        if names[0] == names[1]:
            names = [f"source-{names[0]}", f"target-{names[1]}"]
        return self.output / names[0], self.output / names[1]

    @property
    def dropped_file(self) -> Path | None:
        """Where the list of dropped lines goes, or None."""
        return self._list(self.dropped, "dropped.tsv")

    @property
    def repaired_file(self) -> Path | None:
        """Where the list of changed lines goes, or None."""
        return self._list(self.repaired, "repaired.jsonl") if self.repairs else None

    def _list(self, named: Path | None, name: str) -> Path | None:
        if named is not None or self.dry_run or self.output is None:
            return named
        return self.output / name

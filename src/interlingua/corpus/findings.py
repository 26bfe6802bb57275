"""What an examination found: findings, and the report that shows them as text, JSON and one HTML page."""

import html
import json
from dataclasses import dataclass
from typing import Literal

__all__ = ["SEVERITIES", "Finding", "Report", "Severity", "show_text"]

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first."""

_LINES_SHOWN = 8

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
article { border-left: .4rem solid; padding: .1rem 1rem; margin: 1rem 0; }
.error { border-color: #c62828; } .warning { border-color: #ef8f00; } .note { border-color: #5c85d6; }
h2 { font-size: 1.05rem; margin: .5rem 0; } p { margin: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: .5rem; background: #8882; } details { overflow-wrap: anywhere; }
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        code: what kind of thing, a name that stays the same: ``line-shift``, ``duplicate``.
        severity: ``error`` spoils a model, ``warning`` costs quality, ``note`` is worth knowing.
        lines: the lines concerned, from 1 and in order; a long list may be cut, and the message tells the number.
        message: what was found, where, and why it matters.
        remedy: the command that mends it, or what to do.
    """

    code: str
    severity: Severity
    lines: tuple[int, ...]
    message: str
    remedy: str

    def to_dict(self) -> dict[str, object]:
        """Return the five attributes as JSON has them."""
        return {
            "code": self.code,
            "severity": self.severity,
            "lines": list(self.lines),
            "message": self.message,
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All that an examination found.

    Attributes:
        subject: what was examined, in words: the files, the model folder, the machine.
        findings: in the order in which they were found.
    """

    subject: str
    findings: tuple[Finding, ...]

    @property
    def exit_status(self) -> int:
        """1 if any finding is an error, else 0."""
        return int(any(finding.severity == "error" for finding in self.findings))

    @property
    def ranked(self) -> list[Finding]:
        """The findings, the worst first."""
        return sorted(self.findings, key=lambda finding: SEVERITIES.index(finding.severity))

    def to_json(self) -> str:
        """Return ``{"findings": [...]}``, the worst first, with a line end."""
        found = {"findings": [finding.to_dict() for finding in self.ranked]}
        return json.dumps(found, ensure_ascii=False) + "\n"

    def to_text(self) -> str:
        """Tell a person."""
        told = [f"{self.subject}: {self._count()}\n"]
        for finding in self.ranked:
            lines = f" ({_name_lines(finding.lines, _LINES_SHOWN)})" if finding.lines else ""
            told.append(
                f"{finding.severity}: {finding.code}{lines}\n"
                f"  {_indent(finding.message)}\n  mend: {_indent(finding.remedy)}\n"
            )
        return "\n".join(told)

    def to_html(self) -> str:
        """Return one page that needs nothing else."""
        articles = "".join(_write_article(finding) for finding in self.ranked)
        title = html.escape(f"interlingua doctor: {self.subject}")
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>{_STYLE}</style></head>\n"
            f"<body><h1>{title}</h1><p>{html.escape(self._count())}</p>\n{articles}</body></html>\n"
        )

    def _count(self) -> str:
        if not self.findings:
            return "nothing found"
        counts = {
            severity: sum(finding.severity == severity for finding in self.findings)
            for severity in SEVERITIES
        }
        return ", ".join(
            f"{count} {severity}{'s' if count > 1 else ''}"
            for severity, count in counts.items()
            if count
        )


def show_text(text: str) -> str:
    r"""Write what cannot be seen as it would be typed: ``\x85``, ``\udc80``."""
    return "".join(
        each if each.isprintable() or each in " \u00a0\u3000" else ascii(each)[1:-1]
        for each in text
    )


def _name_lines(lines: tuple[int, ...], most: int) -> str:
    named = ", ".join(map(str, lines[:most]))
    more = f" and {len(lines) - most:,} more" if len(lines) > most else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {named}{more}"


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _write_article(finding: Finding) -> str:
    lines = ""
    if finding.lines:
        every = ", ".join(map(str, finding.lines))
        lines = f"<details><summary>{_name_lines(finding.lines, 3)}</summary>{every}</details>"
    return (
        f'<article class="{finding.severity}"><h2>{finding.severity}: {html.escape(finding.code)}</h2>'
        f"<p>{html.escape(finding.message)}</p>{lines}"
        f"<pre>{html.escape(finding.remedy)}</pre></article>\n"
    )

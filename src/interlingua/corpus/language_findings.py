"""What doctor says of languages: sides that are not what their names say, pairs that changed sides, foreign lines."""

import shlex
from collections.abc import Iterator

import numpy as np

from interlingua.corpus.findings import Finding
from interlingua.corpus.languages import Languages, language_code
from interlingua.corpus.pair_rules import BITS
from interlingua.corpus.plain_sides import PlainSides
from interlingua.corpus.survey import Survey
from interlingua.corpus.telling import cleaning_command, name_lines, on_plain_files, tell_pairs

__all__ = ["find_language_faults"]


def find_language_faults(sides: PlainSides, survey: Survey, found: Languages) -> Iterator[Finding]:
    """Compare the languages of the sides with the names of the files, and of single lines with their side."""
    named = [language_code(language) for language in sides.languages]
    if None not in named and named[0] != named[1] and found.sides == (named[1], named[0]):
        turned = [str(sides.target), str(sides.source)]
        again = shlex.join(["interlingua", "doctor", "--source", turned[0], "--target", turned[1]])
        yield Finding(
            "swapped-sides",
            "error",
            (),
            f"{sides.names[0]} is in the language {found.sides[0]} and {sides.names[1]} in {found.sides[1]}, the other "
            "way round than their names say: a model would translate in the wrong direction.",
            on_plain_files(sides, again),
        )
    else:
        for path, side, name, language in zip(
            sides.names, ("source", "target"), named, found.sides, strict=True
        ):
            if name is not None and language is not None and name != language:
                yield Finding(
                    "wrong-language",
                    "error",
                    (),
                    f"{path} is in the language {language}, not in {name} as its name says.",
                    "give the right file; or, where the name is wrong: "
                    + shlex.join(
                        ["interlingua", "doctor", *sides.flags(), f"--{side}-lang", language]
                    ),
                )
    # What has no language of its own, or is told by its script, is not told twice.
    told_before = (survey.faults & np.uint32(BITS["copied"] | BITS["wrong-script"])) != 0
    others = f" ({_list_languages(found.others)})" if found.others else ""
    told = (
        ("swapped-sides", found.swapped, "have the text of either side on the other"),
        (
            "wrong-language",
            found.foreign & ~told_before,
            f"have a side in another language than that side{others}",
        ),
    )
    for code, mask, why in told:
        places = np.flatnonzero(mask)
        if len(places):
            share = len(places) / len(mask)
            several = len(places) > 2 and share >= 0.001
            yield Finding(
                code,
                "error" if share >= 0.02 and several else "warning" if several else "note",
                name_lines(places),
                tell_pairs(sides, places, len(mask), why),
                cleaning_command(sides, "--rules", code, "--identify-languages"),
            )


def _list_languages(others: dict[str, int]) -> str:
    ranked = sorted(others.items(), key=lambda item: -item[1])
    more = f" and {len(ranked) - 4} more" if len(ranked) > 4 else ""
    return ", ".join(f"{code}: {count:,}" for code, count in ranked[:4]) + more

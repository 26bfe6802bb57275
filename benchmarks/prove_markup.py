"""Do elements keep their words? Each noun and adjective of the demo's test set in an element of its own, through the real server.

    python benchmarks/prove_markup.py [RUN]

RUN is a run of the demo (without one it is trained first, two minutes). The demo's lexicon says which English word each Romanian one
becomes, so that what stands in the element afterwards can be judged: that word, an article before it at most.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/helpers"))

from prove_commands import describe_machine
from prove_exports import train_demo
from running_server import serving

from interlingua.corpus.demo_lexicon import ADJECTIVES, NOUNS

MUST = 0.95
AT_ONCE = 100
ARTICLES = {"a", "an", "the", "some"}
WORD = re.compile(r"\w+")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, nargs="?")
    asked = parser.parse_args()
    print(describe_machine(), flush=True)
    with TemporaryDirectory() as temporary:
        run = asked.run or Path(train_demo(temporary))
        lines = (run / "corpus/test.ro").read_text(encoding="utf-8").splitlines()
        lexicon = read_lexicon()
        marked = [each for line in lines for each in mark(line, lexicon)]
        found: list[str] = []
        with serving(run, flags=("--max-per-client", "1000")) as server:
            for start in range(0, len(marked), AT_ONCE):
                texts = [text for text, _ in marked[start : start + AT_ONCE]]
                answer = server.post("/translate", q=texts, source="ro", target="en", format="html")
                found += answer.json["translatedText"]
    judged = Counter(judge(text, english) for text, (_, english) in zip(found, marked, strict=True))
    told = judged.pop("not translated so")
    count = judged.total()
    print(
        f"{count:,} elements around one word each ({told:,} more whose word the model translated otherwise, or twice): "
        + ", ".join(f"{number:,} {what}" for what, number in judged.most_common())
    )
    print(f"{judged['right'] / count:.2%} right (must {MUST:.0%})")
    return 0 if judged["right"] >= MUST * count else 1


def mark(line: str, lexicon: dict[str, set[str]]) -> Iterator[tuple[str, set[str]]]:
    """Yield a line once for each word of the lexicon in it, that word in an element, with what it may become."""
    words = list(WORD.finditer(line))
    folded = [word[0].lower() for word in words]
    for word, form in zip(words, folded, strict=True):
        if form in lexicon and folded.count(form) == 1:
            start, end = word.span()
            yield f"{line[:start]}<b>{word[0]}</b>{line[end:]}", lexicon[form]


def read_lexicon() -> dict[str, set[str]]:
    """Return what each form of the demo's nouns and adjectives may become."""
    lexicon = {
        form: {english}
        for noun in NOUNS
        for forms, english in (
            ((noun.bare, noun.definite, noun.genitive), noun.english),
            ((noun.plural, noun.definite_plural, noun.genitive_plural), noun.english_plural),
        )
        for form in forms
        if form
    }
    for adjective in ADJECTIVES:
        for form in (
            *(adjective.masculine, adjective.feminine),
            *(adjective.masculine_plural, adjective.feminine_plural),
        ):
            lexicon.setdefault(form, set()).add(adjective.english)
    return lexicon


def judge(text: str, english: set[str]) -> str:
    """Say what stands in the element of a translation."""
    every = words_of(re.sub("<[^>]*>", "", text))
    if sum(word in english for word in every) != 1:
        return "not translated so"
    inside = words_of(re.search("<b>(.*?)</b>", text)[1])
    if not inside:
        return "empty"
    if not english & set(inside):
        return "around another word"
    return "around other words too" if set(inside) - english - ARTICLES else "right"


def words_of(text: str) -> list[str]:
    return [word.removesuffix("'s").strip(".,!?;:'").lower() for word in text.split()]


if __name__ == "__main__":
    raise SystemExit(main())

"""How long a person waits for the page: until it can be used, until a translation stands there, and after typing.

    python benchmarks/page_speed.py RUN SENTENCES

A new browser profile each time, so that nothing is cached. Paint is what the browser calls first contentful paint; usable is
when the field to type in is there. Typing counts from the last key to the new translation, the page's own wait of 180 ms included.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prove_commands import describe_machine, record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/helpers"))

from programs import chromium
from running_server import serving

MOST_PAINT, MOST_TYPING = 1000.0, 500.0
"""Milliseconds."""

OPENED = """async () => {
  const paint = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  while (!document.querySelector("textarea#source")) await new Promise(requestAnimationFrame);
  const usable = performance.now();
  while (!paint()) await new Promise(requestAnimationFrame);
  return [paint(), usable];
}"""

TYPED = """async (text) => {
  const field = document.querySelector("textarea#source");
  const view = document.querySelector("look-translate");
  const before = view.answer;
  field.focus();
  field.value = text;
  const began = performance.now();
  field.dispatchEvent(new Event("input", {bubbles: true}));
  while (view.answer === before || view.answer === undefined) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def main() -> None:
    """Open the page and type; end with status 1 if a median is beyond its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--visits", type=int, default=15)
    parser.add_argument("--texts", type=int, default=50)
    asked = parser.parse_args()
    texts = asked.sentences.read_text(encoding="utf-8").splitlines()[: asked.texts]
    print(describe_machine())
    with serving(asked.run, threads=1) as server, chromium() as browser:
        visits = [visit(browser, server.address) for _ in range(asked.visits)]
        page = browser.new_page()
        page.goto(server.address)
        page.wait_for_selector("look-translate textarea")
        typed = [page.evaluate(TYPED, text) for text in dict.fromkeys(texts)]
    paints, usables = zip(*visits, strict=True)
    told = (("first contentful paint", paints), ("usable", usables), ("typed to translated", typed))
    lines = ["| what | times | median | 90 % within | at most |", "|---|---|---|---|---|"]
    lines += [tell(name, times) for name, times in told]
    print("\n".join(lines))
    record("The page", "make bench-page", "\n".join(lines))
    is_fast = statistics.median(usables) < MOST_PAINT and statistics.median(typed) < MOST_TYPING
    sys.exit(0 if is_fast else 1)


def visit(browser: Any, address: str) -> tuple[float, float]:
    """Open the page as one who was never there; return the milliseconds until paint, and until it can be used."""
    page = browser.new_page()
    page.goto(address, wait_until="commit")
    paint, usable = page.evaluate(OPENED)
    page.context.close()
    return paint, usable


def tell(name: str, times: Sequence[float]) -> str:
    ordered = sorted(times)
    return (
        f"| {name} | {len(ordered)} | {statistics.median(ordered):.0f} ms | "
        f"{ordered[int(0.9 * len(ordered))]:.0f} ms | {ordered[-1]:.0f} ms |"
    )


if __name__ == "__main__":
    main()

"""The page as one file holds all that it needs, and nothing in it can end the element that the answers stand in."""

import base64
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from interlingua.inspection.looker import Looker
from interlingua.inspection.questions import LONGEST_TEXT
from interlingua.server.one_file import PLACE, one_file, write_page
from interlingua.translator import Translator

GOLDEN = Path(__file__).parents[2] / "golden/models/v1"
PAGE = files("interlingua.server") / "page"
HOSTILE = "1 2 3 </script><script>alert(1)</script><!--"


@pytest.fixture(scope="module")
def looker() -> Looker:
    return Looker([Translator.load(GOLDEN, device="cpu", plain=True)], [GOLDEN])


def test_every_module_is_in_it_and_imports_by_names_that_it_has() -> None:
    page = one_file(PLACE)
    found = re.search(r'<script type="importmap">(.*?)</script>', page, re.DOTALL)
    assert found
    modules = json.loads(found[1])["imports"]
    own = {f"look/{each.name}" for each in PAGE.iterdir() if each.name.endswith(".js")}
    assert modules.keys() == own
    for address in modules.values():
        code = base64.b64decode(address.partition(",")[2]).decode()
        imported = re.findall(r'^import (?:[^"]* from )?"([^"]+)";$', code, re.MULTILINE)
        assert set(imported) <= own
        assert '"./' not in code
    assert page.count(PLACE) == 1


def test_it_asks_no_network_for_anything() -> None:
    page = one_file(PLACE)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert "https://" not in page.replace("https://github.com", "")


def test_hostile_text_stays_text(looker: Looker, tmp_path: Path) -> None:
    write_page(looker, HOSTILE, tmp_path / "look.html")
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    held = re.search(
        r'<script type="application/json" id="answers">(.*?)</script>', page, re.DOTALL
    )
    assert held
    answers = json.loads(held[1])
    assert answers["state"]["t"] == HOSTILE
    assert {each["name"] for each in answers["answers"]} >= {"trace", "tree", "walk", "steps"}


def test_the_page_is_small_and_has_nothing_that_its_policy_forbids() -> None:
    content = {each.name: each.read_bytes() for each in PAGE.iterdir()}
    assert sum(map(len, content.values())) < 300 * 1024
    page = content["index.html"].decode()
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", page)
    for name, code in content.items():
        if name.endswith(".js"):
            forbidden = (
                rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
            )
            assert not re.search(forbidden, code), name
            assert b'setAttribute("style"' not in code
            assert b"http://www.w3.org" in code or b"http://" not in code, name
            assert b"https://" not in code, name


def test_the_page_takes_texts_as_long_as_those_that_can_be_asked_about() -> None:
    [told] = re.findall(r"LONGEST = (\d+);", (PAGE / "api.js").read_text(encoding="utf-8"))
    assert int(told) == LONGEST_TEXT

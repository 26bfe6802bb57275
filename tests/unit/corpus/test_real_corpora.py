"""Real text that nobody here wrote: every corpus has the number of lines that its documentation states."""

import os
from pathlib import Path

import pytest

from interlingua.corpus.lines import count_lines, read_lines
from interlingua.corpus.scan import scan_parallel

_DATA = os.environ.get("INTERLINGUA_DATA")
pytestmark = pytest.mark.skipif(
    _DATA is None or not Path(_DATA).is_dir(),
    reason="INTERLINGUA_DATA does not name the folder of the real corpora",
)

_PAIRS = [
    ("multi30k_en_de/train", "en", "de", 29_000),
    ("multi30k_en_de/valid", "en", "de", 1_014),
    ("multi30k_en_de/test_2016_flickr", "en", "de", 1_000),
    ("multi30k_en_de/test_2017_flickr", "en", "de", 1_000),
    ("tatoeba_en_de/train", "en", "de", 166_407),
    ("tatoeba_en_de/valid", "en", "de", 1_685),
    ("tatoeba_en_de/test", "en", "de", 1_721),
    ("ro_en/sts/train", "ro", "en", 11_498),
    ("ro_en/sts/valid", "ro", "en", 3_000),
    ("ro_en/sts/test", "ro", "en", 2_758),
    ("ro_en/mlqe/train", "ro", "en", 7_000),
    ("ro_en/mlqe/valid", "ro", "en", 1_000),
    ("ro_en/mlqe/test", "ro", "en", 1_000),
    ("ro_en/tatoeba/pairs", "ro", "en", 5_508),
    ("ro_en/newstest2016/newstest2016", "ro", "en", 1_999),
    ("news_en_de/train", "en", "de", 26_732),
    ("news_en_de/newstest2009", "en", "de", 2_525),
    ("news_en_de/newstest2013", "en", "de", 3_000),
    ("news_en_de/newstest2014", "en", "de", 3_003),
    ("tanaka_en_ja/train", "en", "ja", 50_000),
    ("tanaka_en_ja/valid", "en", "ja", 500),
    ("tanaka_en_ja/test", "en", "ja", 500),
    ("align/ro_en/test", "ro", "en", 248),
    ("align/en_fr/test", "en", "fr", 447),
    ("scan_simple/train", "src", "tgt", 16_728),
    ("scan_simple/test", "src", "tgt", 4_182),
    ("scitldr/train", "src", "tgt", 1_992),
    ("scitldr/valid", "src", "tgt", 619),
    ("scitldr/test", "src", "tgt", 618),
    ("phonemes/train", "src", "tgt", 9_000),
    ("phonemes/valid", "src", "tgt", 196),
    ("tico19/en-ar/test", "en", "ar", 2_100),
    ("tico19/en-fr/test", "en", "fr", 2_100),
    ("tico19/en-hi/test", "en", "hi", 2_100),
    ("tico19/en-zh/test", "en", "zh", 2_100),
    ("noisy_en_de/train", "en", "de", 10_000),
    ("noisy_en_de/valid", "en", "de", 50),
]
_BLANK = {"noisy_en_de/train": 1}


def _path(name: str) -> Path:
    assert _DATA is not None
    return Path(_DATA) / name


@pytest.mark.parametrize(("stem", "source", "target", "lines"), _PAIRS)
def test_a_real_corpus_is_read_with_its_documented_number_of_pairs(
    stem: str, source: str, target: str, lines: int
) -> None:
    text = scan_parallel([_path(f"{stem}.{source}")], [_path(f"{stem}.{target}")])
    blank = len(text.parts[0].blank)
    assert blank == _BLANK.get(stem, 0)
    assert len(list(text.pairs())) + blank == lines


def test_the_sixteen_flores_languages_have_1012_lines_each() -> None:
    files = sorted(_path("flores200").glob("devtest.*"))
    assert [len(read_lines(path)) for path in files] == [1012] * 16


def test_u0085_in_newstest2009_does_not_end_a_line() -> None:
    german = read_lines(_path("news_en_de/newstest2009.de"))
    assert any("\u0085" in line for line in german)
    assert len(german) == count_lines(_path("news_en_de/newstest2009.en")) == 2_525


def test_the_empty_line_of_the_noisy_corpus_is_reported_by_its_number() -> None:
    stem = _path("noisy_en_de/train")
    text = scan_parallel([stem.with_suffix(".en")], [stem.with_suffix(".de")])
    assert text.parts[0].blank.tolist() == [4]


def test_the_byte_order_mark_of_botchan_is_not_text() -> None:
    path = _path("subword/botchan.txt")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert not read_lines(path)[0].startswith("\ufeff")

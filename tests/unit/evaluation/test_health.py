import time
from dataclasses import replace

import pytest

from interlingua.errors import CorpusError
from interlingua.evaluation.health import LONGEST_PHRASE, check_health, repeats_itself
from interlingua.requests.faults import flag_faults
from interlingua.requests.translation import Translation


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("no no no", True),
        ("No no NO", True),
        ("no no", False),
        ("a dog a dog a dog", True),
        ("I saw a dog a dog a dog today", True),
        ("a dog a dog a cat", False),
        ("a b c d e f g h a b c d e f g h a b c d e f g h", True),
        ("the dog the cat the bird", False),
        ("! ! ! ! !", False),
        (". . . and so on . . .", False),
        (", 1 , 1 , 1", True),
        ("二 〇 〇 〇 年", False),
        ("哈 哈 哈 哈 哈", True),
        ("", False),
        ("word", False),
    ],
)
def test_three_of_the_same_in_a_row_are_a_repetition(line: str, expected: bool) -> None:
    assert repeats_itself(line.split()) is expected


def test_the_time_for_a_line_grows_no_faster_than_the_line() -> None:
    def seconds(length: int) -> float:
        line = ["." if number % 2 else "-" for number in range(length)]
        started = time.process_time()
        assert not repeats_itself(line)
        return time.process_time() - started

    assert min(seconds(16_000) for _ in range(3)) < 64 * min(seconds(1_000) for _ in range(3))


@pytest.mark.parametrize("length", [1, 2, 30, LONGEST_PHRASE])
def test_a_phrase_is_found_up_to_its_longest(length: int) -> None:
    phrase = [f"w{number}" for number in range(length)]
    assert repeats_itself(["before", *phrase * 3, "after"])
    assert not repeats_itself(["before", *phrase * 2, "after"])


def test_each_fault_is_named_by_its_line() -> None:
    sources = ["ein Hund", "eine Katze", "Berlin", "ja ja ja", "noch einmal"]
    references = [["a dog", "a cat", "Berlin", "yes yes yes", "once more"]]
    hypotheses = ["EIN  Hund", " ", "Berlin", "yes yes yes", "once once once more"]
    health = check_health(hypotheses, references, sources)
    assert health.copied == (1,)
    assert health.empty == (2,)
    assert health.repeating == (5,)
    assert health.exact == 2
    assert health.exact_share == pytest.approx(0.4)
    assert health.empty_share == health.copied_share == health.repeating_share == pytest.approx(0.2)
    assert health.length_ratio == pytest.approx((2 + 0 + 1 + 3 + 4) / (2 + 2 + 1 + 3 + 2))


def test_a_fault_that_a_reference_shares_is_no_fault() -> None:
    health = check_health(["", "5 5 5", "OK"], [["", "5 5 5", "OK"]], ["", "5 5 5", "OK"])
    assert health.empty == health.repeating == health.copied == ()
    assert health.exact_share == 1.0


def test_any_of_several_references_may_be_the_exact_one() -> None:
    health = check_health(["b ", "c"], [["a", "a"], ["b", "a a a"]])
    assert health.exact == 1


def test_the_length_ratio_takes_the_nearest_reference() -> None:
    assert check_health(["a b c"], [["a"], ["a b c d"]]).length_ratio == pytest.approx(3 / 4)
    assert check_health(["a"], [[""]]).length_ratio == 0.0


def test_without_sources_copies_are_unknown_not_zero() -> None:
    health = check_health(["a"], [["a"]])
    assert health.copied is None
    assert health.copied_share is None


def test_text_without_spaces_is_looked_at_by_character() -> None:
    health = check_health(["猫が猫が猫が", "猫"], [["猫がいる", "犬"]], target_lang="ja")
    assert health.repeating == (1,)
    assert health.length_ratio == pytest.approx(7 / 5)


def test_sources_of_another_length_are_refused() -> None:
    with pytest.raises(CorpusError, match="the source has 2 lines but the output has 1"):
        check_health(["a"], [["a"]], ["a", "b"])


@pytest.mark.parametrize("text", ["我们去我们去我们去", "ไปไปไป", "no no no"])
def test_a_loop_is_flagged_in_every_script(text: str) -> None:
    written = Translation(text, 0.0, (text,), (0.0,), "end")
    assert "loop" in flag_faults("x", written, None).flags
    assert "loop" not in flag_faults("x", replace(written, text="二〇〇〇年"), None).flags

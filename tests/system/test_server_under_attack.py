"""A server that is attacked goes on answering; the same at full length is ``make prove-server``."""

import signal
import time
from collections.abc import Iterator
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from threading import Thread

import pytest
from running_server import GOLDEN, Answer, RunningServer, serving
from server_attacks import attack_slowly, fuzz, leave, overload, percentile

FLAGS = ("--deadline", "300", "--max-per-client", "100000")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving(GOLDEN, flags=FLAGS) as running:
        yield running


def worker_of(server: RunningServer) -> str:
    return Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()


def assert_answers(server: RunningServer) -> None:
    answer = server.post("/translate", q="3 1 2", source="digits", target="reverse")
    assert answer.json == {"translatedText": "2 1 3"}


def test_two_thousand_random_requests_break_nothing(server: RunningServer) -> None:
    worker = worker_of(server)
    answered = fuzz(server, 2_000)
    assert answered[200] > 100
    assert answered[400] > 100
    assert worker_of(server) == worker
    assert_answers(server)


def test_more_than_can_be_answered_is_refused_at_once(server: RunningServer) -> None:
    load = overload(server, "3 1 2", rate=150, seconds=3)
    assert load.lost == 0
    assert len(load.answered) + len(load.refused) == 450
    assert load.answered
    assert_answers(server)


def test_slow_clients_are_cut_off_and_others_do_not_notice(server: RunningServer) -> None:
    borne: list[float] = []
    attack = Thread(target=lambda: borne.extend(attack_slowly(server, 60)))
    attack.start()
    took = []
    while attack.is_alive():
        start = time.monotonic()
        assert_answers(server)
        took.append(time.monotonic() - start)
        attack.join(0.2)
    assert len(borne) == 60
    assert max(borne) <= 60.0  # uncut it would be 600
    assert percentile(took, 90) < 2.0


def test_clients_that_leave_cost_nothing(server: RunningServer) -> None:
    worker = worker_of(server)
    leave(server, 100)
    assert_answers(server)
    for _ in range(600):
        told = server.get("/metrics").body.decode()
        if "interlingua_queue_requests 0.0" in told and "in_flight 1.0" in told:
            break
        time.sleep(0.1)
    else:
        raise AssertionError(told)
    assert worker_of(server) == worker


def test_a_server_that_is_told_to_stop_under_load_tells_nobody_half_an_answer() -> None:
    answers: list[Answer | OSError | HTTPException] = []
    with serving(GOLDEN, flags=FLAGS) as stopping:

        def ask() -> None:
            while True:
                try:
                    answers.append(
                        stopping.post("/translate", q="3 1 2", source="digits", target="reverse")
                    )
                except (OSError, HTTPException) as error:
                    answers.append(error)
                    return

        clients = [Thread(target=ask) for _ in range(8)]
        for client in clients:
            client.start()
        while not answers:
            time.sleep(0.05)
        told = time.monotonic()
        stopping.process.send_signal(signal.SIGTERM)
        stopping.process.wait(60)
        took = time.monotonic() - told
        for client in clients:
            client.join()
    whole = [each for each in answers if isinstance(each, Answer)]
    assert whole
    assert not any(isinstance(each, IncompleteRead) for each in answers)
    for each in whole:
        assert each.status == 503 or each.json == {"translatedText": "2 1 3"}
    assert took <= 30.0  # the strict figure is that of make prove-server

"""The ``replay`` command: train the beginning of a run again, and see whether the same comes out."""

from pathlib import Path

from interlingua.cli.streams import print_json, say

__all__ = ["replay"]

DIFFERENT = 1
"""The exit status of a run that does not come out again."""


def replay(run: Path, *, steps: int = 100, json: bool = False) -> int:
    """Train the first updates of a run again from its folder alone, and compare the losses.

    On a machine of the same kind (environment.json tells: versions, processor, threads, arithmetic) they must be equal to
    the last bit, on another one within 2 %. As many threads compute as did then, since the last bits hang on that. A text
    that is no longer what corpus.lock says is refused by name. Nothing in the run is changed. Ends with status 1 if the
    losses differ, and tells where first.

    Args:
        run: run folder.
        steps: updates to make again.
        json: print the losses as JSON.
    """
    from interlingua.training.replay import replay as replay_run

    replayed = replay_run(run, steps=steps)
    print_json(replayed.to_json()) if json else say(replayed.to_text())
    if replayed.signal is not None:
        return 128 + replayed.signal
    return DIFFERENT if replayed.differs else 0

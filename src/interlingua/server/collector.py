"""Garbage is looked for where most of it is, in the processes that answer."""

import gc

__all__ = ["spare_the_collector"]


def spare_the_collector() -> None:
    """Look through everything for garbage rarely: with a full queue that took a fifth of a second, and held up all answers.

    What was loaded by now stays and need not be looked at again. What dies soon, as nearly all of a request does, is
    found in the younger generations.
    """
    gc.collect()
    gc.freeze()
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, 100 * old)

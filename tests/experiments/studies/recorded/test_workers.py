"""Jobs in processes of their own: what they raise is raised here, whatever it is."""

from __future__ import annotations

import pytest

from experiments.studies.recorded.workers import spread


class _Odd(Exception):
    """Needs two arguments, so that pickle cannot make it again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def _work(job: int) -> int:
    if job:
        raise _Odd("this", "that")
    return job


def test_an_error_that_cannot_be_pickled_is_told_in_words() -> None:
    with pytest.raises(RuntimeError, match=r"^_Odd: this and that$"):
        list(spread(_work, [0, 1], 2))

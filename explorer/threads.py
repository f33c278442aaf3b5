"""Linear algebra in one thread: the models' matrices are small.

Threads of BLAS would wait for work beside what is timed, and each other's start costs more than what they compute: on
two busy cores, a colony took three times the processor time for an ask. They also round in other ways elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, NumPy and SciPy compute in one thread."""
    with _libraries().limit(limits=1):
        yield


@cache  # to look for them takes a millisecond
def _libraries() -> ThreadpoolController:
    """The libraries that are loaded, SciPy's own BLAS among them: a limit does not reach what is loaded later."""
    import scipy.linalg  # noqa: F401  it loads that library
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

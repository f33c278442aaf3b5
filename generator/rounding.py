"""Rounding errors: by how much two correct results of one program may differ.

The usual difference grows with the length of the sums (`relative_tolerance`). A program can also be ill-conditioned:
its rounding errors grow until they determine some or all digits of some results (the last columns of a Gram-Schmidt
process on dependent vectors consist of rounding errors). No other program, not even the same one from another compiler,
reproduces those results. `rounding_tolerance` finds such elements from runs of the original with all arithmetic rounded
up and with all of it rounded down.

For each element (p numbers the pairs of runs; from p = 1 on the inputs were changed by one unit in the last place,
which gives other rounding errors):

    middle[p] = |(up[p] + down[p]) / 2 - result|        drift = max(|up[0] - result|, |down[0] - result|)

`drift` is an upper bound, and far too large for a long sum: errors of one sign add up to n units, those of other
programs to sqrt(n). This part has opposite signs in the two runs, so it cancels in `middle`: as long as errors add up
linearly, `middle` is half a unit of every rounding with a random sign, a sample of the effect of another order of the
operations. But `middle` of changed inputs can be large without any rounding error (a test `x == 1`, a singular matrix
of integers). Hence it counts only up to a multiple of `drift`: where `drift` is 0 the arithmetic is exact.

A comparison that rounding decides can make a result jump. Jumps are no rounding errors, and what is known of them stays
with their elements: runs with error bounds (`Bounds`) tell how far rounding alone can move a number, which limits the
noise before it is spread to neighbours, and what other answers make of each element (`from_other_answers`).

This is random rounding (D. S. Parker, Monte Carlo Arithmetic, 1997; J. Vignes, Math. Comput. Simul. 35, 1993) with as
few runs as possible and the processor's own rounding modes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.distances import around, at_most, distance, near

Pair: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

SAFETY = 32.0
# One rounding step by C type. That of double is chosen larger than 2^-52: a wrong variant differs by far more than the
# eleven digits that remain.
UNIT = {"float": 2.0**-23, "double": 2.0**-43, "half": 2.0**-11}
MOST_RELATIVE = 0.01
PEERS = 16.0
# A sample of two random numbers can be small by chance: take the maximum of a neighbourhood, and multiply it by this.
ROUNDING_SAFETY = 16.0
MOST_DRIFTS = 16.0
# For runs with other answers, which resemble another program. A difference of one is one answer.
MIXED_SAFETY = 2.0
# Error bounds of sums of n terms grow like 8 sqrt(n) units (`ANTUNE_SUM`); errors of one sign, like n.
INDEPENDENT = 8.0
# The distance to the farthest neighbour along each dimension, by the number of dimensions: 17, 25 and 27 elements.
RADIUS = {1: 8, 2: 2}
NEARLY_ALL = 0.99
# Integers wrap where other answers change them by more than all but this part of their range, and by less than
# this part modulo 2^n.
_WRAPPED = 1 / 16
_WIDE = 4  # bytes
_OTHER_BUILD = 1e-4
_PART = 2**16


def relative_tolerance(type_name: str, length: int) -> float:
    """Return the relative tolerance for elements of a C type after chains of `length` updates; 0 for integers.

    The rounding error of adding n terms grows like sqrt(n) units in the last place if the single errors are independent
    (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, section 4.5).
    """
    return min(SAFETY * UNIT.get(type_name, 0.0) * math.sqrt(max(length, 1)), MOST_RELATIVE)


def scale(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the base of relative differences: each value's size plus that of a usual element.

    So elements that cancel to almost 0 are compared with their peers: with the root mean square of the finite values,
    but at most PEERS times the median of the nonzero ones. A few huge elements must not hide errors in all others.
    """
    numbers = _sizes(values)
    numbers += _usual(numbers)
    return numbers


def usual_size(values: NDArray[Any]) -> float:
    """Return what `scale` adds to the size of each value; 0 if no value is finite and nonzero."""
    return _usual(_sizes(values))


def _sizes(values: NDArray[Any]) -> NDArray[np.float64]:
    numbers = values.astype(np.float64)
    np.abs(numbers, out=numbers)
    return numbers


def _usual(numbers: NDArray[np.float64]) -> float:
    sizes = numbers[np.isfinite(numbers) & (numbers != 0)]
    if not sizes.size:
        return 0.0
    largest, median = float(np.max(sizes)), float(np.median(sizes, overwrite_input=True))
    sizes /= largest  # in place: allocating a large array takes longer than using it
    np.square(sizes, out=sizes)
    return min(largest * math.sqrt(float(np.sum(sizes)) / numbers.size), PEERS * median)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What runs with error bounds found for an array (`sequential/jumps.py`).

    `ends`: the least and the greatest results that other answers give where rounding decides the answer (a number is
    truncated or compared); none if all answers are decided. `balanced`: other answers are given in groups; the lesser
    one of what the groups add to an element and what they take away, each alone. `groups`: how many of them change it.
    Both are None if there was no time. `apart`: how far rounding errors alone may move a real number, if most errors of
    long sums are independent. `around`: the greatest change of integers that may wrap, modulo 2^n.
    `few`: whether there was no time for enough runs with other answers; then those with another rounding show some of
    them. `sampled`: whether many runs gave random answers; then an element that several answers change differs in some
    of these runs, even if the changes can cancel.
    """

    ends: tuple[NDArray[Any], ...] = ()
    balanced: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    apart: NDArray[Any] | None = None
    around: NDArray[Any] | None = None
    few: bool = False
    sampled: bool = False

    @property
    def found(self) -> bool:
        """Whether there was time for a run."""
        return bool(self.ends) or self.apart is not None

    @property
    def undecided(self) -> bool:
        """Whether other answers may change the array."""
        return bool(self.ends) or self.few


def rounding_tolerance(type_name: str, result: NDArray[Any], pairs: Sequence[Pair], bounds: Bounds = Bounds(),
                       length: int = 1) -> NDArray[np.float64] | None:
    """Return the absolute differences from `result` that rounding errors explain; None if the usual tolerance covers
    them.

    `pairs`: the results (up, down) of the runs; without any, nothing is known: None. They say nothing about integers
    whose answers are all decided: `rint` follows the rounding of the processor, and changed inputs are other numbers.
    Differences of integers that wrap are modulo 2^n, and negative (`within`). `length`: of the longest chain
    of updates. The tolerance is infinite where a run with another rounding gives NaN or an infinity and `result` is a
    number, or the other way round. Integers that depend on no rounding get 0.
    """
    if not pairs:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        if type_name in UNIT and not bounds.undecided:
            most = ROUNDING_SAFETY * _most_noise(result, pairs)
            if most <= relative_tolerance(type_name, 1) * float(scale(result).min(initial=inf)):
                return None  # as the element-wise code below would find
        size = scale(result)
        limit = np.asarray(0.0 if type_name not in UNIT else inf if bounds.apart is None
                           else bounds.apart * max(1.0, math.sqrt(length) / INDEPENDENT), np.float64)
        if type_name in UNIT:
            tolerance = _errors(result, pairs, size, limit)
        else:  # a step, not a sum of small errors: mean and neighbours have no meaning
            tolerance = np.zeros(result.shape) if bounds.undecided else _amplified(_drift(result, pairs), size)
        if bounds.undecided:
            jumps = from_other_answers(result, bounds, pairs, limit)
            tolerance = np.where(jumps < 0, jumps, np.maximum(tolerance, jumps))
        needed = bool(np.any(np.abs(tolerance) > relative_tolerance(type_name, 1) * size))
        return np.asarray(tolerance) if needed else None


def _errors(result: NDArray[Any], pairs: Sequence[Pair], size: NDArray[np.float64],
            limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the tolerance for rounding errors alone: at most `limit` where it is finite."""
    middle, drift = (_limited(found, limit) for found in (_middle(result, pairs), _drift(result, pairs)))
    return _limited(_amplified(np.minimum(_spread(middle), MOST_DRIFTS * _spread(drift)), size), limit)


def _amplified(noise: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the tolerance for noise. Errors without a correct digit no longer add up: they are quotients of random
    numbers, with long tails.
    """
    tolerance = ROUNDING_SAFETY * noise
    return np.where(tolerance > size, ROUNDING_SAFETY * tolerance, tolerance)


def _limited(values: NDArray[np.float64], limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values, finite ones at most `limit`."""
    return np.where(np.isinf(values), values, np.minimum(values, limit))


def from_other_answers(result: NDArray[Any], bounds: Bounds, pairs: Sequence[Pair] = (),
                       limit: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
    """Return the absolute differences that other answers explain; 0 where they change nothing.

    Twice the greatest difference that was found, and `balanced`: if what n answers change adds up, all changes of one
    sign are at most their sum, which runs with all answers moved show, and what cancels there. Where other answers
    change more than `limit`, `pairs` are further results of this kind; so are those with greater differences after few
    runs. What several answers change can cancel in all runs, unless many were random: real numbers then take the
    differences of neighbours that more than one group changes (or any, without groups). Negative: see `_modulo`.
    """
    tolerance = reduce(np.maximum, (_other_answers(result, end) for end in bounds.ends), np.zeros(result.shape))
    undecided = (tolerance > limit) | bounds.few
    runs = [run for pair in pairs for run in pair]
    for run in runs:
        change = _other_answers(result, run)
        tolerance = np.maximum(tolerance, np.where(undecided & (change > limit), change, 0.0))
    if bounds.around is not None and not bounds.few:
        turned = reduce(np.maximum, (around(result, run) for run in runs), bounds.around.astype(np.float64))
        return _modulo(tolerance, turned, bounds, result)
    if bounds.balanced is not None:
        tolerance = np.add(tolerance, bounds.balanced, dtype=np.float64)
    if bounds.apart is None or bounds.sampled:
        return tolerance
    several = tolerance if bounds.groups is None else np.where(bounds.groups > 1, tolerance, 0.0)
    return np.maximum(tolerance, _spread(several))


def _modulo(tolerance: NDArray[np.float64], turned: NDArray[np.float64], bounds: Bounds,
            result: NDArray[Any]) -> NDArray[np.float64]:
    """Return the tolerances of integers: where these wrap, negative differences modulo 2^n.

    They wrap where other answers change them by nearly 2^n, but by little modulo 2^n: from 0 to 2^n - 1, for example.
    What cancels among the groups is at most what half of them change. Integers of 8 and 16 bits can also change by
    nearly 2^n without wrapping (from black to white); then single answers change them by less, which groups and random
    answers show together: in one group, several answers may always change at once.
    """
    size = 2.0 ** (8 * result.dtype.itemsize)
    more = np.zeros(result.shape) if bounds.balanced is None else bounds.balanced.astype(np.float64)
    if result.dtype.itemsize < _WIDE and (bounds.groups is None or not bounds.sampled):
        return tolerance + more
    cancels = np.zeros(result.shape) if bounds.groups is None else bounds.groups // 2 * turned
    wraps = (tolerance > MIXED_SAFETY * (1 - _WRAPPED) * size) & (turned + cancels < _WRAPPED * size)
    return np.where(wraps, -(np.where(turned == 1, 1, MIXED_SAFETY * turned) + cancels), tolerance + more)


def within(expected: NDArray[Any], got: NDArray[Any], allowed: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where |got - expected| is finite and at most `allowed`, or `allowed` is inf.

    A negative `allowed` is for integers that wrap: their difference modulo 2^n is at most |allowed|.
    """
    found: NDArray[np.bool_] = (near(expected, got, allowed) & (allowed > 0)) | np.isposinf(allowed)
    if allowed.min(initial=0.0) < 0:
        found |= (allowed < 0) & at_most(around(expected, got), -allowed)
    return found


def undetermined(result: NDArray[Any], tolerance: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where the tolerance permits a relative error of MOST_RELATIVE (halves: ten times that).

    There rounding changes the fourth digit (of halves, which have three digits, the second).
    """
    most = MOST_RELATIVE * (10 if result.dtype == np.float16 else 1)
    with np.errstate(invalid="ignore"):
        wide: NDArray[np.bool_] = np.abs(tolerance) > most * scale(result)
    return wide


def rounding_note(results: Mapping[str, NDArray[Any]], tolerances: Mapping[str, NDArray[Any]]) -> str | None:
    """Return a warning about results that are `undetermined`; None if there are none."""
    wide = {name: undetermined(results[name], tolerance) for name, tolerance in tolerances.items()}
    listed = [f"{_share(mask)} of {name}" for name, mask in wide.items() if mask.any()]
    if not listed:
        return None
    unchecked = any(np.isinf(tolerance).any() for tolerance in tolerances.values())
    note = (f"rounding errors leave three digits or fewer of {', '.join(listed)}: the original program itself gives "
            "other values there when its arithmetic rounds differently. These elements are checked with a tolerance "
            "as wide as that, and must be finite")
    if unchecked:
        note += "; those that rounding makes infinite or NaN are not checked"
    decided, size = sum(int(mask.sum()) for mask in wide.values()), sum(value.size for value in results.values())
    if decided > NEARLY_ALL * size:
        note += "; as that is nearly everything, a wrong variant may pass: use double, or other input data"
    return note


def differing(value: NDArray[Any], other: NDArray[Any], rounding: NDArray[Any] | None) -> int:
    """Return how many elements of `other`, the result of another build, differ by more than rounding errors."""
    with np.errstate(invalid="ignore", over="ignore"):
        far = distance(value, other)
        wrong = far > (_OTHER_BUILD * scale(value) if value.dtype.kind == "f" else 0.0)
    return int(np.count_nonzero(wrong if rounding is None else wrong & ~within(value, other, rounding)))


def _most_noise(result: NDArray[Any], pairs: Sequence[Pair]) -> float:
    """Return the greatest noise that `rounding_tolerance` can find in any element, part by part in little memory."""
    flat, runs = result.reshape(-1), [(up.reshape(-1), down.reshape(-1)) for up, down in pairs]
    middle = drift = 0.0
    for start in range(0, flat.size, _PART):
        part = slice(start, start + _PART)
        some = [(up[part], down[part]) for up, down in runs]
        middle = max(middle, float(_middle(flat[part], some).max()))
        drift = max(drift, float(_drift(flat[part], some).max()))
    return min(middle, MOST_DRIFTS * drift)


def _drift(result: NDArray[Any], pairs: Sequence[Pair]) -> NDArray[np.float64]:
    up, down = pairs[0]
    return np.maximum(distance(result, up), distance(result, down))


def _middle(result: NDArray[Any], pairs: Sequence[Pair]) -> NDArray[np.float64]:
    return reduce(np.maximum, (distance(result, _mean(*pair)) for pair in pairs))


def _share(mask: NDArray[np.bool_]) -> str:
    share = float(np.mean(mask))
    return "all" if share == 1 else "less than 1 %" if share < 0.01 else f"{min(100 * share, 99):.0f} %"


def _other_answers(result: NDArray[Any], run: NDArray[Any]) -> NDArray[np.float64]:
    """Return what the difference between two results permits if other answers explain it."""
    change = distance(result, run)
    return np.where((change == 1) & (result.dtype.kind != "f"), 1.0, MIXED_SAFETY * change)


def _mean(one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.multiply(one, 0.5, dtype=np.float64)
    mean += np.multiply(two, 0.5, dtype=np.float64)
    return mean


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the maximum of each element's neighbourhood; infinities stay in place and do not spread."""
    greatest = np.where(np.isinf(values), 0.0, values)
    for axis in range(values.ndim):
        line = np.moveaxis(greatest, axis, 0)
        source = line.copy()
        for step in range(1, min(RADIUS.get(values.ndim, 1), len(line) - 1) + 1):
            np.maximum(line[step:], source[:-step], out=line[step:])
            np.maximum(line[:-step], source[step:], out=line[:-step])
    return np.where(np.isinf(values), np.inf, greatest)

"""What structures do in a beam search: equal ones wait, those of good walks are preferred, each is sampled."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from explorer.beam import search
from explorer.beam_pass import BeamOptions, Blessed, Pass
from graph.guiding import Guide, Prefix
from graph.space import Option
from graph.states import start_of
from tests.support.spaces import FlatSpace

PLAIN = BeamOptions(beam=3, passes=2, sampling=False, freezing=False)
TWO_CHOICES, ONE_CHOICE = FlatSpace((4, 2)), FlatSpace((16,))


@dataclass
class Judged:
    """A guide that looks at the first choice only: `looks` are the costs of prefixes, `ends` of complete walks.

    At depth d, first choices are alike if their quotients by `alike[d]` are equal. `begun`: those that were extended.
    """

    looks: Sequence[float]
    ends: Sequence[float]
    alike: Sequence[int]
    begun: set[int] = field(default_factory=set)

    def offered(self, prefix: Prefix) -> tuple[Option, ...]:
        if prefix.choices:
            self.begun.add(first_choice(prefix))
        return prefix.state.options

    def costs(self, prefixes: Sequence[Prefix]) -> list[float]:
        return [self._cost(prefix) for prefix in prefixes]

    def _cost(self, prefix: Prefix) -> float:
        if not prefix.choices:
            return 0.1
        return (self.ends if prefix.state.decision is None else self.looks)[first_choice(prefix)]

    def structure(self, prefix: Prefix, depth: int) -> Hashable:
        return first_choice(prefix) // self.alike[depth] if prefix.choices else None

    def is_heavy(self, prefix: Prefix) -> bool:
        return False

    def coarse(self) -> Guide | None:
        return None

    def frozen(self, end: Prefix, turn: int = 0) -> Guide:
        raise AssertionError("there is no coarse pass")


def first_choice(prefix: Prefix) -> int:
    return int(str(prefix.choices[0].option))


def run(space: FlatSpace, guide: Guide, options: BeamOptions, number: int, blessed: Blessed) -> Pass:
    """Return pass `number` after it has run."""
    made = Pass(guide, options, number, np.random.default_rng(0), blessed)
    made.run(Prefix(start_of(space)))
    return made


def test_of_equal_structures_the_second_waits_for_others() -> None:
    """Options 0, 1 and 2 are alike; 3 looks worst and is best."""
    guide = Judged((1.0, 1.1, 1.2, 1.9), (1.0, 1.1, 1.2, 0.5), (4, 3, 1))
    run(TWO_CHOICES, guide, replace(PLAIN, beam=2), 0, Blessed())
    assert guide.begun == {0, 3}
    assert first_choice(found(guide, replace(PLAIN, beam=2))) == 3


def test_the_kth_of_equal_structures_costs_k_times_as_much() -> None:
    """1.1 becomes 2.2 and 1.2 becomes 3.6; 3.0 lies between them."""
    guide = Judged((1.0, 1.1, 1.2, 3.0), (1.0, 1.1, 1.2, 0.5), (4, 3, 1))
    run(TWO_CHOICES, guide, PLAIN, 0, Blessed())
    assert guide.begun == {0, 1, 3}


def test_structures_of_good_walks_are_preferred_in_the_next_pass() -> None:
    """Options 2 and 3 look better than 1, but their walks are bad; 1 is like 0, whose walk is good."""
    guide, blessed = Judged((1.0, 1.3, 1.1, 1.2), (1.0, 0.9, 5.0, 5.0), (2, 1, 1)), Blessed()
    run(TWO_CHOICES, guide, PLAIN, 0, blessed)
    assert guide.begun == {0, 2, 3}
    guide.begun.clear()
    run(TWO_CHOICES, guide, PLAIN, 1, blessed)
    assert guide.begun == {0, 1, 2}
    assert first_choice(found(guide, PLAIN)) == 1


def test_each_structure_gives_as_many_samples_as_the_logarithm_of_its_number() -> None:
    """16 options are alike at depth 0, in pairs at depth 1, in fours at depth 2."""
    guide = Judged([1.0] * 16, [1.0] * 16, (16, 2, 4, 1))
    options = replace(PLAIN, sampling=True)
    assert [run(ONE_CHOICE, guide, options, number, Blessed()).judged for number in range(3)] == [4, 8, 8]
    assert run(ONE_CHOICE, guide, PLAIN, 0, Blessed()).judged == 16


@dataclass
class Freezing(Judged):
    """Its coarse pass prefers the last first choice, which it freezes."""

    settled: int | None = None

    def offered(self, prefix: Prefix) -> tuple[Option, ...]:
        return prefix.state.options if prefix.choices or self.settled is None else (self.settled,)

    def coarse(self) -> Guide | None:
        return Judged(self.looks[::-1], self.ends[::-1], self.alike)

    def frozen(self, end: Prefix, turn: int = 0) -> Guide:
        return replace(self, settled=first_choice(end))


def test_what_the_coarse_pass_freezes_holds_in_all_others() -> None:
    guide = Freezing((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0), (1,) * 6)
    assert first_choice(found(guide, replace(PLAIN, freezing=True))) == 3
    assert first_choice(found(guide, PLAIN)) == 0


def found(guide: Guide, options: BeamOptions) -> Prefix:
    """Return the end of the walk that a search finds."""
    end = search(TWO_CHOICES, guide, options, np.random.default_rng(0)).end
    assert end is not None
    return end

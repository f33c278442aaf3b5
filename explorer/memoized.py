"""A space that memoizes the walks through it, for explorers that repeat the same walks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from generator.plan import Plan
from graph.foretelling import Foresee, foresight_of, foretelling_of, foretold_alone
from graph.space import Chooser, Decision, Option, Space


@dataclass(slots=True)
class _Asked:
    """A decision, and for each known answer the next decision, or the Plan at the end."""

    decision: Decision
    options: tuple[Option, ...]
    after: dict[Option, _Asked | Plan] = field(default_factory=dict)


class MemoizedSpace:
    """The same space; it queries the original only for walks that are new since `forget`.

    This is correct because a space is deterministic in the answers (graph.space.Space).
    """

    def __init__(self, space: Space) -> None:
        """Memoize walks through `space`."""
        self._space = space
        self._start: _Asked | Plan | None = None

    @property
    def foretell(self) -> Foresee | None:
        """See graph.foretelling.Foretelling."""
        return foretelling_of(self._space)

    @property
    def alone(self) -> bool:
        """See graph.foretelling.Foretelling."""
        return foretold_alone(self._space)

    @property
    def foresee(self) -> Foresee | None:
        """See graph.foretelling.Foretelling."""
        return foresight_of(self._space)

    def forget(self) -> None:
        """Free the memoized walks."""
        self._start = None

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""
        known, answers = self._start, list[Option]()
        while isinstance(known, _Asked):
            answers.append(chooser.choose(known.decision, known.options))
            known = known.after.get(answers[-1])
        if known is not None:
            return known
        way = _Way(chooser, answers)
        plan = self._space(way)
        self._remember(way, plan)
        return plan

    def _remember(self, way: _Way, plan: Plan) -> None:
        if not way.asked:
            self._start = plan
            return
        if not isinstance(self._start, _Asked):
            self._start = way.asked[0]
        known = self._start
        for following, answer in zip(way.asked[1:], way.answers, strict=False):
            after = known.after.setdefault(answer, following)
            assert isinstance(after, _Asked), "the space is not deterministic"
            known = after
        known.after[way.answers[-1]] = plan


class _Way:
    """The Chooser of one run of the original space: repeats `given`, then asks `chooser`, and records everything."""

    def __init__(self, chooser: Chooser, given: Sequence[Option]) -> None:
        self.asked: list[_Asked] = []
        self.answers: list[Option] = []
        self._chooser = chooser
        self._given = given

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        """See graph.space.Chooser."""
        number = len(self.asked)
        answer = self._given[number] if number < len(self._given) else self._chooser.choose(decision, options)
        self.asked.append(_Asked(decision, tuple(options)))
        self.answers.append(answer)
        return answer

"""The space of recorded walks: its legal walks are exactly those given.

The walks form a trie (a tree of their prefixes). If all walks with a prefix continue with the same option, that is not
a decision of this space. If the walks are a sample, it was one in the full space, and models must know it: then it is
asked with its single option.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from generator.errors import InputError
from generator.plan import Plan
from graph.space import Chooser, Decision, Option

Answer: TypeAlias = tuple[str, tuple[str, ...], Option]
"""A recorded choice: name and subject of the decision, and the option."""

_Question: TypeAlias = tuple[str, tuple[str, ...], int]  # the int: how often the walk was asked this before
_Rows: TypeAlias = list[tuple[tuple[tuple[_Question, Option], ...], Plan]]
_LONG = 8


class RecordedSpace:
    """The walks of a recording, with the Plan of each.

    Walks share a node if the same decision offers the same options there. So a Decision's `depends` is empty if all
    options ever recorded for it are offered, and else names the offered ones.
    """

    def __init__(self, walks: Iterable[tuple[Sequence[Answer], Plan]], sample: bool = False) -> None:
        """Build the trie; of walks with equal choices, the last one is used.

        `sample`: the walks are a sample of a larger space, so most decisions had more options than are known.

        Raises:
            InputError: there are no walks, or two walks with the same choices continue with different decisions.
        """
        rows = [(_counted(choices), plan) for choices, plan in walks]
        if not rows:
            raise InputError("a space of recorded walks needs at least one walk")
        self._root = _Builder(rows, sample).tree(rows, 0)

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""
        at = self._root
        while True:
            for decision, option in at.settled:
                chooser.choose(decision, (option,))
            if not isinstance(at.then, _Fork):
                return at.then
            at = at.then.children[chooser.choose(at.then.decision, at.then.options)]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The common part of walks, up to the next fork or to their Plan. `settled` is empty unless they are a sample."""

    settled: tuple[tuple[Decision, Option], ...]
    then: _Fork | Plan


@dataclass(frozen=True, slots=True)
class _Fork:
    """A decision with several recorded options, and the walks after each."""

    decision: Decision
    options: tuple[Option, ...]
    children: dict[Option, _Stretch]


class _Builder:
    """Builds the trie; equal decisions with equal option lists get equal Decisions."""

    def __init__(self, rows: _Rows, sample: bool) -> None:
        self._sample = sample
        self._ranks = _ranks(rows)
        self._decisions: dict[_Question, dict[tuple[Option, ...], Decision]] = {}
        self._sampled: dict[_Question, Decision] = {}

    def tree(self, rows: _Rows, depth: int) -> _Stretch:
        """Return the part of the trie after the first `depth` choices, which all `rows` share. Raises InputError."""
        settled: list[tuple[Decision, Option]] = []
        while (question := _next_question(rows, depth)) is not None:
            behind: dict[Option, _Rows] = {}
            for row in rows:
                behind.setdefault(row[0][depth][1], []).append(row)
            depth += 1
            if len(behind) > 1:
                options = tuple(sorted(behind, key=self._ranks[question].__getitem__))
                children = {option: self.tree(behind[option], depth) for option in options}
                return _Stretch(tuple(settled), _Fork(self._decision(question, options), options, children))
            if self._sample:
                decision = self._sampled.setdefault(question, Decision(*question[:2], sampled=True))
                settled.append((decision, next(iter(behind))))
        return _Stretch(tuple(settled), rows[-1][1])

    def _decision(self, question: _Question, options: tuple[Option, ...]) -> Decision:
        made = self._decisions.setdefault(question, {})
        if options not in made:
            name, subject, before = question
            asked: tuple[tuple[str, Option], ...] = (("asked before", before),) if before else ()
            if len(options) < len(self._ranks[question]):
                asked = (("options", _described(options, len(made))), *asked)
            made[options] = Decision(name, subject, asked)
        return made[options]


def _next_question(rows: _Rows, depth: int) -> _Question | None:
    """Return the decision that all `rows` have after `depth` choices; None at their end. Raises InputError."""
    questions = {choices[depth][0] if depth < len(choices) else None for choices, _ in rows}
    if len(questions) > 1:
        raise InputError(_disagreement(questions, depth))
    return next(iter(questions))


def _counted(choices: Sequence[Answer]) -> tuple[tuple[_Question, Option], ...]:
    """Return the choices, each with how often the walk met the same decision before (mostly 0)."""
    asked: dict[tuple[str, tuple[str, ...]], int] = {}
    counted = []
    for name, subject, option in choices:
        before = asked.get((name, subject), 0)
        asked[name, subject] = before + 1
        counted.append(((name, subject, before), option))
    return tuple(counted)


def _ranks(rows: _Rows) -> dict[_Question, dict[Option, int]]:
    """Return each option's rank among the recorded ones: numbers and tuples sorted, others in order of appearance."""
    met: dict[_Question, dict[Option, None]] = {}
    for choices, _ in rows:
        for question, option in choices:
            met.setdefault(question, {})[option] = None
    return {question: {option: rank for rank, option in enumerate(_in_order(list(options)))}
            for question, options in met.items()}


def _in_order(options: list[Option]) -> Sequence[Option]:
    numbers = [option for option in options if isinstance(option, int | float)]
    if len(numbers) == len(options):
        return sorted(numbers)
    sequences = [option for option in options if isinstance(option, tuple)]
    return sorted(sequences) if len(sequences) == len(options) else options


def _described(options: tuple[Option, ...], number: int) -> str:
    """Return the options as text; long lists are abbreviated and get `number`, as they may differ in their middle."""
    if len(options) <= _LONG:
        return ", ".join(repr(option) for option in options)
    return f"{options[0]} to {options[-1]}, {len(options)} of them (list {number})"


def _disagreement(questions: Iterable[_Question | None], depth: int) -> str:
    words = sorted("the end" if question is None else f"{question[0]!r} of {question[1]}" for question in questions)
    return (
        f"two walks make the same {depth} choices and go on with {words[0]} and with {words[1]}; such walks are not "
        "from one space, record them again"
    )

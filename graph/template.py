"""The space of a template: named parameters with values, and restrictions between them.

Parameters that restrictions connect, directly or through others, form a group; groups are independent of each other
and asked one after the other (Rasch et al., "Efficient auto-tuning of parallel programs with interdependent tuning
parameters via auto-tuning framework (ATF)", TACO 2021: a chain of trees). Within a group, an option is offered if some
values of the later parameters complete it to a legal configuration. A search finds that out: it jumps back to the
parameter that caused a conflict (conflict-directed backjumping; Prosser, "Hybrid algorithms for the constraint
satisfaction problem", 1993) and stops at the first legal configuration, so the product of all values is never
enumerated. If the search takes too long, the option is offered without proof, and a walk that cannot be completed
after it is a dead end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from generator.errors import InputError
from generator.plan import Plan, Value
from generator.templates.checking import check_values
from generator.templates.expressions import Restriction, parse_restriction
from generator.templates.template import Parameter, template_plan
from graph.space import Chooser, DeadEnd, Decision

LOOK_AHEAD = 2000
"""Steps of the search for legal configurations per list of options, before it gives up; takes some milliseconds."""

_MOST_KNOWN = 200_000
_Blame: TypeAlias = frozenset[int]


class TemplateSpace:
    """All configurations of `parameters` that fulfil `restrictions`; see the module's docstring.

    A Decision's `depends` are the earlier choices that excluded options. So walks share a node if the same choices
    excluded options there. The Plan holds the values of all parameters by name.
    """

    def __init__(self, parameters: Sequence[Parameter], restrictions: Iterable[str | Restriction] = (),
                 look_ahead: int = LOOK_AHEAD) -> None:
        """Group the parameters. After `look_ahead` search steps per list of options, no more options are proven.

        Raises:
            InputError: a parameter has no values, a name or value is given twice, a restriction is not an expression
                or names an unknown parameter, or no configuration is legal.
        """
        _check_parameters(parameters)
        known = {parameter.name: number for number, parameter in enumerate(parameters)}
        parsed = [parse_restriction(r) if isinstance(r, str) else r for r in restrictions]
        for restriction in parsed:
            if unknown := sorted(set(restriction.names) - set(known)):
                raise InputError(f"the restriction `{restriction.text}` names `{unknown[0]}`, which is not a "
                                 f"parameter; there are {', '.join(known)}")
            _check_numbers(restriction, [parameters[known[name]] for name in restriction.names])
        self._parameters = tuple(parameters)
        self._start: list[Value] = [parameter.values[0] for parameter in parameters]
        free = [number for number, parameter in enumerate(parameters) if len(parameter.values) > 1]
        checks = [_Check(restriction, tuple(known[name] for name in restriction.names),
                         frozenset(known[name] for name in restriction.names) & frozenset(free), restriction.holds)
                  for restriction in parsed]
        for check in checks:
            if not check.about and not check.holds(self._start):
                raise _nothing_legal([check.restriction])
        self._groups = tuple(
            _group(self._parameters, numbers, checks, look_ahead) for numbers in _connected(free, checks)
        )
        for group in self._groups:
            if group.hopeless(list(self._start)):
                raise _nothing_legal([check.restriction for checks in group.checks for check in checks])

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""
        values = list(self._start)
        for group in self._groups:
            group.choose(chooser, values)
        named = zip((parameter.name for parameter in self._parameters), values, strict=True)
        return template_plan(named)


@dataclass(frozen=True, slots=True)
class _Check:
    """A restriction with the numbers of its parameters.

    `about`: the numbers of those with more than one value. `compute`: the restriction's function, called directly
    because most of a search's time is spent here.
    """

    restriction: Restriction
    numbers: tuple[int, ...]
    about: _Blame
    compute: Callable[..., object]

    def holds(self, values: Sequence[Value]) -> bool:
        found = [values[number] for number in self.numbers]
        try:
            return bool(self.compute(*found))
        except (ArithmeticError, TypeError, ValueError):
            return self.restriction.allows(tuple(found))  # handles the error, or reports what is wrong


class _TooLong(Exception):
    """The search used all its steps."""


@dataclass(slots=True)
class _Search:
    """The search for legal configurations; `steps` are left.

    `conflicts`: by position and the values that it depends on, the parameters that cause a dead end there.
    """

    steps: int
    conflicts: dict[tuple[int, tuple[Value, ...]], _Blame] = field(default_factory=dict)

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise _TooLong


@dataclass(frozen=True, slots=True)
class _Group:
    """Connected parameters in the order in which they are asked; a "position" is an index into them.

    `checks`: by position, the restrictions that can be evaluated there. `live`: by position, the earlier parameters
    that share a restriction with one at that position or later. `known`: cached offers by position and the values of
    its live parameters, on which they depend.
    """

    parameters: tuple[Parameter, ...]
    numbers: tuple[int, ...]
    checks: tuple[tuple[_Check, ...], ...]
    live: tuple[tuple[int, ...], ...]
    look_ahead: int
    known: dict[tuple[int, tuple[Value, ...]], _Offer] = field(default_factory=dict)

    def choose(self, chooser: Chooser, values: list[Value]) -> None:
        """Ask for the group's parameters and write their values into `values`. Raises DeadEnd."""
        for position, parameter in enumerate(self.parameters):
            options, decision = self._offer(position, values)
            if not options:
                raise DeadEnd
            if len(options) == 1:
                values[self.numbers[position]] = options[0]
                continue
            chosen = chooser.choose(decision, options)
            if isinstance(chosen, tuple):
                raise TypeError(f"{chosen!r} was not offered for {parameter.name}")
            values[self.numbers[position]] = chosen

    def hopeless(self, values: list[Value]) -> bool:
        """Return whether it is proven that no configuration is legal."""
        try:
            return self._conflict(0, values, _Search(self.look_ahead)) is not None
        except _TooLong:
            return False

    def _offer(self, position: int, values: list[Value]) -> _Offer:
        key = position, tuple([values[number] for number in self.live[position]])
        offer = self.known.get(key)
        if offer is None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            offer = self.known[key] = self._make_offer(position, list(values))
        return offer

    def _make_offer(self, position: int, values: list[Value]) -> _Offer:
        parameter, number = self.parameters[position], self.numbers[position]
        options, blamed, search = [], frozenset[int](), _Search(self.look_ahead)
        for option in parameter.values:
            values[number] = option
            blame = self._rejection(position, values)
            if blame is None:
                try:
                    blame = self._conflict(position + 1, values, search)
                except _TooLong:  # unproven: whether it is a dead end depends on all live parameters
                    blamed |= frozenset(self.live[position])
            if blame is None:
                options.append(option)
            else:
                blamed |= blame
        depends = tuple((name, values[number]) for name, number in self._named(blamed - {number}))
        return tuple(options), Decision(parameter.name, depends=depends)

    def _named(self, numbers: _Blame) -> list[tuple[str, int]]:
        return [(parameter.name, number) for parameter, number in zip(self.parameters, self.numbers, strict=True)
                if number in numbers]

    def _rejection(self, position: int, values: Sequence[Value]) -> _Blame | None:
        """Return the parameters of the first restriction that forbids the value at `position`, or None."""
        for check in self.checks[position]:
            if not check.holds(values):
                return check.about
        return None

    def _conflict(self, position: int, values: list[Value], search: _Search) -> _Blame | None:
        """Return None if the values can be completed from `position` on, else the earlier parameters that prevent it.

        Raises _TooLong.
        """
        if position == len(self.parameters):
            return None
        key = position, tuple([values[number] for number in self.live[position]])
        if key in search.conflicts:
            return search.conflicts[key]
        number, blamed = self.numbers[position], frozenset[int]()
        for option in self.parameters[position].values:
            search.step()
            values[number] = option
            blame = self._rejection(position, values)
            if blame is None:
                blame = self._conflict(position + 1, values, search)
                if blame is None:
                    return None
                if number not in blame:  # the conflict does not depend on this parameter
                    blamed = blame
                    break
            blamed |= blame
        search.conflicts[key] = blamed - {number}
        return search.conflicts[key]


_Offer: TypeAlias = "tuple[tuple[Value, ...], Decision]"


def _group(parameters: Sequence[Parameter], numbers: tuple[int, ...], checks: Iterable[_Check],
           look_ahead: int) -> _Group:
    about = [check for check in checks if check.about & set(numbers)]
    decided = tuple(tuple(check for check in about if max(check.about) == number) for number in numbers)
    live = []
    for number in numbers:
        later = [check.about for check in about if max(check.about) >= number]
        live.append(tuple(other for other in numbers if other < number and any(other in one for one in later)))
    return _Group(tuple(parameters[number] for number in numbers), numbers, decided, tuple(live), look_ahead)


def _connected(numbers: Sequence[int], checks: Sequence[_Check]) -> list[tuple[int, ...]]:
    """Return the groups of parameters that restrictions connect, each sorted, in the order of their first parameter."""
    groups = [frozenset([number]) for number in numbers]
    for check in checks:
        touched = [group for group in groups if group & check.about]
        if touched:
            groups = [group for group in groups if group not in touched] + [frozenset[int]().union(*touched)]
    return sorted(tuple(sorted(group)) for group in groups)


def _check_parameters(parameters: Sequence[Parameter]) -> None:
    names = [parameter.name for parameter in parameters]
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise InputError(f"the parameter `{twice[0]}` is given twice; keep one of them")
    for parameter in parameters:
        check_values(parameter.name, parameter.values)


def _check_numbers(restriction: Restriction, parameters: Sequence[Parameter]) -> None:
    """Raise InputError if the restriction calculates with a parameter that has strings as values."""
    for parameter in parameters:
        if parameter.name in restriction.calculated and any(isinstance(value, str) for value in parameter.values):
            raise InputError(
                f"the restriction `{restriction.text}` calculates with `{parameter.name}`, which has texts as values; "
                "compare it, or use numbers"
            )


def _nothing_legal(restrictions: Sequence[Restriction]) -> InputError:
    texts = ", ".join(f"`{text}`" for text in dict.fromkeys(restriction.text for restriction in restrictions))
    return InputError(f"no configuration fulfils {texts}; relax them, or add values")


def restriction(names: Sequence[str], holds: Callable[..., object]) -> Restriction:
    """Return the restriction that calls `holds` with the values of the parameters `names`, in this order."""
    return Restriction(tuple(names), holds, getattr(holds, "__name__", "a function"))

"""Which tests and cases run by default."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.slow import DAY, EVERY, QUICK_ONLY, few, in_turn, of_today

DAYS = ("2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03")


def runs(test: Callable[[], None]) -> bool:
    return not getattr(in_turn(test), "pytestmark", [])


@pytest.mark.parametrize("number", range(5))
def test_a_test_has_its_turn_on_one_of_four_days(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []
    for day in DAYS:
        def test() -> None: ...

        test.__qualname__ = f"test_{number}"
        monkeypatch.setenv(DAY, day)
        turns.append(runs(test))
    assert sum(turns) == 1
    monkeypatch.setenv(DAY, EVERY)
    assert runs(lambda: None)


def test_each_case_has_its_day(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    for day in DAYS[:3]:
        monkeypatch.setenv(DAY, day)
        chosen += of_today("abcdef", 2)
    assert sorted(chosen) == list("abcdef")
    monkeypatch.setenv(DAY, EVERY)
    assert of_today("abcdef", 2) == list("abcdef")


def test_slow_cases_are_made_only_where_they_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(QUICK_ONLY, "1")
    assert few("abc", 2) == ["a", "b"] and [case.id for case in few("abc", "c", ["x", "y", "z"])] == ["z"]
    monkeypatch.setenv(QUICK_ONLY, "")
    assert [str(case) for case in few("abc", 2)][:2] == ["a", "b"] and few("abc", 2)[2].marks[0].name == "slow"
    with pytest.raises(ValueError, match="no case runs by default"):
        few("abc", 0)

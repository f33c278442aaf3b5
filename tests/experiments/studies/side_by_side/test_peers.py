"""Halide's own autoschedulers on the same definitions and inputs, and their place in the tables of a suite."""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from antune.parsing import parse_parameters, parse_size
from experiments.studies.side_by_side import halide_peer
from experiments.studies.side_by_side.entries import Entry
from experiments.studies.side_by_side.halide_peer import (
    LIMIT_S,
    SCHEDULERS,
    check_peers,
    halide_turns,
    read_peers,
    write_peers,
)
from experiments.studies.side_by_side.peer_rounds import FEWEST, ROUNDS, PeerTime, hold_rounds, over_peers
from experiments.studies.side_by_side.pipelines import Pipelines
from experiments.studies.side_by_side.table import notes, peers, sections_of
from experiments.studies.side_by_side.wanted import SuiteOptions
from experiments.suites.image_pipelines import pipeline
from generator.errors import InputError
from generator.frontend_py.problem import read_pipeline
from generator.problem import Problem
from metrics.finals import Ratio
from runners.locks import exclusive
from tests.support.halide_wheel import wheel
from tests.support.slow import few
from tests.support.suite import small_problem
from tests.support.targets import CPU, RDNA

OURS = PeerTime("antune", 2.0, "", (2.0, 1.0, 4.0))
THEIRS = (PeerTime("Halide Mullapudi2016", 3.0, "", (3.0, 2.0, 4.0)),
          PeerTime("Halide Adams2019", None, "RuntimeError: no"))
SHORT_S = 0.1


def an_entry(program: str) -> Entry:
    """One that was measured in some way."""
    return Entry(program, Pipelines("small"), "CPU", "PoCL", "1", 1, None, 1, "2026-11-25", 0.0, 1.0, 1.0, (), (), 1)


def answers_of(name: str, problem: Problem | None = None, rounds: int = 1,
               limit_s: float = LIMIT_S) -> dict[str, list[float | str]]:
    """The answers of the schedulers in so many rounds."""
    wheel()
    found = pipeline(name)
    with halide_turns(found.file, found.parameters_at("small"), problem or small_problem(found)[0], CPU,
                      seconds=SHORT_S, limit_s=limit_s) as turns:
        return {scheduler: [turn(number) for number in range(rounds)] for scheduler, turn in turns.items()}


def is_time(answer: float | str) -> bool:
    return isinstance(answer, float) and answer > 0


@pytest.mark.parametrize("name", few(["blur", "harris", "max_filter", "matmul", "camera_pipe"], 4))
def test_both_schedulers_compute_what_we_compute(name: str) -> None:
    """An input of the size that is needed, one with a boundary condition, several inputs, a reduction, and tables."""
    found = answers_of(name)
    assert list(found) == [f"Halide {scheduler}" for scheduler in SCHEDULERS]
    assert all(is_time(answer) for answers in found.values() for answer in answers), found


def test_tables_that_only_buffers_use_stay_in_memory(tmp_path: Path) -> None:
    """Halide keeps no array alive. The table is so large that its memory is given back when it goes, and Halide's code
    would crash.
    """
    wheel()
    file = tmp_path / "with_table.py"
    file.write_text("import numpy as np\n"
                    "from antune import halide as hl\n\n"
                    "def build():\n"
                    "    x, out = hl.Var('x'), hl.Func('out')\n"
                    "    out[x] = hl.Buffer(np.arange(2**22, dtype=np.int32), 'table')[x * 4096]\n"
                    "    return out\n")
    problem = read_pipeline(file, None, dict(parse_parameters(parse_size("512"))), 7)
    with halide_turns(file, (), problem, CPU, seconds=SHORT_S) as turns:
        assert is_time(turns["Halide Mullapudi2016"](0))


@pytest.mark.parametrize(("long_s", "processes"), [(0.0, 2), (60.0, 4)])
def test_each_round_has_a_new_process_unless_compiling_takes_long(monkeypatch: pytest.MonkeyPatch, long_s: float,
                                                                  processes: int) -> None:
    """Of two rounds of two schedulers. Outputs of a process that is kept are checked each time."""
    begun: list[int] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            begun.append(self.pid)

    monkeypatch.setattr(halide_peer, "LONG_S", long_s)
    monkeypatch.setattr(subprocess, "Popen", Counted)
    found = answers_of("blur", rounds=2)
    assert all(len(answers) == 2 and all(map(is_time, answers)) for answers in found.values()), found
    assert len(begun) == processes
    assert all(not Path(f"/proc/{pid}").exists() for pid in begun), "all have ended"


def test_a_process_that_ends_or_takes_too_long_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    child = tmp_path / "child.py"
    child.write_text("import sys; sys.exit('no memory')")
    monkeypatch.setattr(halide_peer, "CHILD", child)
    assert set(map(str, answers_of("blur")["Halide Adams2019"])) == {"Halide ended with 1: no memory"}
    child.write_text("import time; time.sleep(60)")
    assert answers_of("blur", limit_s=0.2)["Halide Adams2019"] == ["more than 0.2 s"]


@pytest.mark.slow
def test_runs_wait_for_other_measurements(tmp_path: Path) -> None:
    """Ours hold this lock, too."""
    wheel()
    found, lock = pipeline("blur"), tmp_path / "timing.lock"
    problem = small_problem(found)[0]
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        with exclusive(lock):
            turns = stack.enter_context(halide_turns(found.file, found.parameters_at("small"), problem, CPU, lock))
            time_ms = pool.submit(turns["Halide Adams2019"], 0)
            time.sleep(5.0)
            assert not time_ms.done()
        assert is_time(time_ms.result())


def test_a_wrong_result_has_no_time() -> None:
    problem = small_problem(pipeline("blur"))[0]
    (output,) = problem.program.outputs
    values = problem.reference.outputs[output.name].copy()
    values[3, 4] += 1
    changed = replace(problem, reference=replace(problem.reference, outputs={output.name: values}))
    for (answer,) in answers_of("blur", changed).values():
        assert isinstance(answer, str) and answer.startswith("wrong result: ")


def test_a_definition_that_halide_refuses_is_told(tmp_path: Path) -> None:
    wheel()
    problem = small_problem(pipeline("blur"))[0]
    file = tmp_path / "blur.py"
    file.write_text("from antune import halide as hl\n\ndef build():\n    raise ValueError('not here')\n")
    with halide_turns(file, (), problem, CPU) as turns:
        assert [turn(0) for turn in turns.values()] == ["ValueError: not here"] * 2


def test_other_devices_have_no_peers() -> None:
    problem = small_problem(pipeline("blur"))[0]
    with halide_turns(Path("blur.py"), (), problem, RDNA) as turns:
        assert [(name, turn(0)) for name, turn in turns.items()] == [
            ("Halide", "is measured on CPUs and with CUDA only")]


def test_rounds_measure_all_in_turns_and_begin_with_another_one() -> None:
    calls: list[str] = []

    def turn(name: str, number: int) -> float | str:
        calls.append(f"{name}{number}")
        return "crashed" if (name, number) == ("c", 1) else float(number)

    found = hold_rounds({name: partial(turn, name) for name in "abc"}, lambda: 0.0)
    assert calls == ["a0", "b0", "c0", "b1", "c1", "a1", "a2", "b2", "a3", "b3", "b4", "a4", "a5", "b5"]
    assert found == (PeerTime("a", 2.5, "", (0, 1, 2, 3, 4, 5)), PeerTime("b", 2.5, "", (0, 1, 2, 3, 4, 5)),
                     PeerTime("c", None, "crashed"))


def test_rounds_end_early_on_slow_machines() -> None:
    clock = itertools.count(0.0, 100.0)
    (found,) = hold_rounds({"a": float}, lambda: next(clock))
    assert FEWEST <= len(found.rounds) < ROUNDS


def test_the_ratio_is_that_of_the_rounds() -> None:
    """A machine that becomes slower by half changes all of a round; the medians' ratio would be 1.5."""
    slow = PeerTime("slow", 9.0, "", (9.0,) * 6)
    ours, theirs = PeerTime("ours", 2.0, "", (1, 1, 1, 3, 3, 3)), PeerTime("theirs", 3.0, "", (2, 2, 2, 6, 6, 6.75))
    assert over_peers((ours, slow, theirs)) == Ratio(2.0, 2.0, 2.25)
    assert over_peers((ours, PeerTime("failed", None, "crashed"))) is None
    assert over_peers((PeerTime("ours", None, "crashed"), theirs)) is None


def test_who_is_no_peer_is_refused() -> None:
    with pytest.raises(InputError, match="'tvm' is none of the peers; use halide"):
        check_peers(["tvm"])
    with pytest.raises(InputError, match="none of the peers"):
        SuiteOptions(("blur",), Pipelines("small"), peers=("kernel_tuner",))


def test_peers_are_kept_beside_the_entry_and_have_a_table(tmp_path: Path) -> None:
    assert read_peers(tmp_path) == ()
    write_peers((OURS, *THEIRS), tmp_path)
    entry = replace(an_entry("blur"), peers=read_peers(tmp_path))
    assert entry.peers == (OURS, *THEIRS)
    (section,) = sections_of([entry, an_entry("harris")])
    ((head, rows),) = peers(section)
    assert head == ("wall-clock time", "antune", "Halide Mullapudi2016", "Halide Adams2019", "ours : better of them")
    assert rows == [
        ("blur", "2.00 ms", "3.00 ms", "- (RuntimeError: no)", "1.5x [1, 2]"),
        ("geometric mean", "", "", "", "1.5x"),
    ]
    assert any("in turns" in note for note in notes(section))
    assert peers(sections_of([an_entry("blur")])[0]) == ()
    (tmp_path / "peers.json").write_text(json.dumps([{"name": "antune", "ms": 2, "detail": ""},
                                                     {"name": "Halide Adams2019", "ms": 3, "detail": ""}]))
    ((_, rows),) = peers(sections_of([replace(an_entry("blur"), peers=read_peers(tmp_path))])[0])
    assert rows[0] == ("blur", "2.00 ms", "3.00 ms", "1.5x"), "measured once, by an older version"
    (tmp_path / "peers.json").write_text("[")
    with pytest.raises(InputError, match=r"peers\.json cannot be read"):
        read_peers(tmp_path)

"""A run directory from somebody else runs no code of theirs, and says nothing to the terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.exports.kinds import Kind
from experiments.exports.signature import FOREIGN
from experiments.exports.write import export
from experiments.files import write_atomically
from experiments.run import More, resume, tune
from experiments.store import is_own, open_store, read_store
from experiments.values.options import Budget, RunOptions, Timing
from experiments.values.program_json import _decode, from_json, to_json
from experiments.words import command
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.plain_text import MOST, one_line, printable, shell_word
from generator.problem import load_reference, save_reference
from generator.program import Program
from generator.reading import read_program
from runners.pool_runner import _own_folder
from tests.support.programs import write_c
from tests.support.runs import PROGRAM, Log, ToyRunner, toy_options, toy_parts, toy_source
from tests.support.slow import in_turn

HISTOGRAM = """
#define N 64
int bins[8], place[N];
int main(void) {
  for (int i = 0; i < N; i++) place[i] = i % 8;
#pragma scop
  for (int i = 0; i < N; i++) bins[place[i]] += 2;
#pragma endscop
  return bins[0] != 16;
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def run(tmp_path: Path, cache: Path) -> Path:
    """A finished toy run."""
    source = toy_source(tmp_path)
    directory = tmp_path / "run"
    tune(toy_options(source, 4), directory, Log(), toy_parts(ToyRunner()))
    return directory


@pytest.fixture
def histogram(tmp_path: Path, cache: Path) -> Path:
    """A run on PoCL whose subscripts depend on data."""
    directory = tmp_path / "histogram"
    tune(RunOptions(str(write_c(HISTOGRAM, tmp_path)), Compilation(), Budget(evaluations=1), ants=1, device="pocl",
                    timing=Timing(finalists=0)), directory, Log())
    return directory


def rewrite(run: Path, change: Callable[[Program], Program]) -> None:
    """Replace the stored program, with the digest that fits."""
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        program = change(from_json(db.execute("SELECT program FROM run").fetchone()[0], Program))
        db.execute("UPDATE run SET program = ?, program_digest = ?", (to_json(program), program.digest))
        db.commit()


def become_foreign(cache: Path) -> None:
    """From now on another user is at work."""
    shutil.rmtree(cache)


def go_on(run: Path, trust: bool = False) -> Log:
    log = Log()
    resume(run, Budget(evaluations=6), log, toy_parts(ToyRunner()), more=More(trust=trust))
    return log


def statement(**changes: Any) -> Callable[[Program], Program]:
    return lambda program: replace(program, statements=(replace(program.statements[0], **changes),))


def reworded(old: str, new: str) -> Callable[[Program], Program]:
    """The program with a text of its JSON replaced."""
    def change(program: Program) -> Program:
        text = to_json(program)
        assert old in text
        found = _decode(json.loads(text.replace(old, new)))
        assert isinstance(found, Program)
        return found
    return change


HOSTILE: dict[str, tuple[Callable[[Program], Program], str]] = {
    "array name": (reworded('"A"', '"A[0]; } asm(0); {"'), "a name"),
    "statement name": (reworded('"S0"', '"S0\\n#include </etc/passwd>"'), "a name"),
    "type": (reworded('"double"', '"double; int"'), "a type"),
    "operator": (reworded('"op":"+"', '"op":"= 0; asm(0); A[0] "'), "an operator"),
    "binary operator": (reworded('"op":"*"', '"op":", system(0) *"'), "an operator"),
    "number": (reworded('{"is":"Int","value":2}', '{"is":"Real","text":"1;asm(0)"}'), "a number"),
    "function": (reworded('{"is":"Int","value":2}', '{"arguments":[],"function":"printf","is":"Call"}'), "a function"),
    "cast": (
        reworded('{"is":"Int","value":2}', '{"is":"Cast","operand":{"is":"Int","value":2},"type":"int *"}'),
        "a type",
    ),
    "variable": (reworded('{"is":"Int","value":2}', '{"is":"Name","name":"b0","type":"int"}'), "a variable"),
    "written without saying so": (reworded('"kind":"write"', '"kind":"read"'), "an access"),
    "a result that is only read": (
        lambda program: replace(program, arrays=tuple(replace(array, role="in") for array in program.arrays)),
        "a role",
    ),
    "data larger than their array": (
        lambda program: replace(program, arrays=tuple(replace(array, declared=(9,)) for array in program.arrays)),
        "extents",
    ),
    "name of the program": (lambda program: replace(program, name="../../x"), "the name"),
    "huge number": (reworded('"value":2}', f'"value":{10**19 * 5}}}'), "a number"),
    "subscript": (
        reworded('"index":[{"is":"Name","name":"i"', '"index":[{"is":"Int","value":8},{"is":"Name","name":"i"'),
        "none of those",
    ),
    "relation": (reworded("-> A[i]", "-> A[i + 4]"), "leaves the array"),
    "domain": (statement(domain="{ S0[i] : 0 <= i < 80 }"), "runs other instances"),
    "schedule": (
        lambda program: replace(program, schedule='{ domain: "{ S0[i] : 0 <= i < 80 }" }'),
        "runs other instances",
    ),
    "endless domain": (statement(domain="{ S0[i] : 0 <= i }"), "domain"),
    "no isl": (statement(domain="{ S0[i : 0 <= i < 8 }"), "isl cannot read"),
    "extents": (
        lambda program: replace(program, arrays=(replace(program.arrays[0], extents=(4,)), program.arrays[1])),
        "leaves the array|do not fit",
    ),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_what_no_front_end_makes_is_refused(attack: str, run: Path) -> None:
    change, essence = HOSTILE[attack]
    rewrite(run, change)
    for trust in (False, True):
        with pytest.raises(InputError, match=essence):
            go_on(run, trust)


@pytest.mark.parametrize("name", ["my blur (1).py", "größe\n<b>'\".py", "%s.py", "-x.py"])
def test_files_of_pipelines_may_be_called_anything(name: str, tmp_path: Path) -> None:
    """What is stored of them can be read again."""
    (folder := tmp_path / "a\nb").mkdir()
    (folder / name).write_text("from antune import halide as hl\n\n\ndef build(width):\n    x, f = hl.Var('x'), "
                               "hl.Func('f')\n    f[x] = x * 2\n    return f\n")
    program = read_program(folder / name, Compilation(), {"width": 8})
    assert from_json(to_json(program), Program) == program
    assert program.file == str(folder / name) and re.fullmatch(r"[\w.+-]+", program.name)


def test_a_subscript_that_its_relation_does_not_tell_is_refused(run: Path) -> None:
    def far(program: Program) -> Program:
        changed = to_json(program).replace(
            '"index":[{"is":"Name","name":"i","type":"int"}]', '"index":[{"is":"Int","value":1000000}]'
        )
        assert changed != to_json(program)
        return from_json(changed, Program)

    rewrite(run, far)
    with pytest.raises(InputError, match="not what its relation says"):
        go_on(run)


@in_turn
def test_text_of_the_source_stays_in_its_comment(histogram: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    attack = f'x;\n}}\nasm(".globl antune_{made.name}");\nvoid f(void) {{ // \\'
    rewrite(histogram, statement(text=attack))
    finish = resume(histogram, Budget(evaluations=2), Log(), more=More(trust=True))
    assert finish.best is not None
    lines = (histogram / "best.cl").read_text().splitlines()
    assert [line for line in lines if "asm" in line and not line.startswith(("//", " *"))] == []


@in_turn
def test_what_data_decide_needs_trust_or_proof(histogram: Path, cache: Path) -> None:
    assert is_own(histogram)
    become_foreign(cache)
    assert not is_own(histogram)
    resume(histogram, Budget(evaluations=2), Log())  # the data prove that all subscripts are inside
    reference = load_reference(histogram / "reference.npz")
    far = np.full_like(reference.inputs["place"], 10**9)
    save_reference(replace(reference, inputs={**reference.inputs, "place": far}), histogram / "reference.npz")
    with pytest.raises(InputError, match=r"was not begun by you .*`bins` in `bins\[place\[i\]\] .*--trust"):
        resume(histogram, Budget(evaluations=3), Log())
    with pytest.raises(InputError, match="--trust"), read_store(histogram) as store:
        export(store, Kind.opencl, None, histogram / "exported")


@in_turn
def test_a_program_that_may_leave_its_arrays_is_told(tmp_path: Path, cache: Path) -> None:
    told = {}
    for name, text in (
        ("inside", HISTOGRAM),
        ("far", HISTOGRAM.replace("place[i] = i % 8;", "place[i] = i % 8;\n  place[3] = 9;")),
    ):
        log = Log()
        tune(
            RunOptions(
                str(write_c(text, tmp_path)),
                Compilation(),
                Budget(evaluations=1),
                ants=1,
                device="deterministic",
                timing=Timing(finalists=0),
            ),
            tmp_path / name,
            log,
        )
        told[name] = [note for note in log.notes if "program's fault" in note]
    assert told["inside"] == [] and "`bins` in `bins[place[i]]" in told["far"][0]


def test_data_that_do_not_fit_are_refused(run: Path) -> None:
    reference = load_reference(run / "reference.npz")
    for inputs in ({**reference.inputs, "A": np.ones(7)}, {**reference.inputs, "B": np.ones(8)}):
        save_reference(replace(reference, inputs=inputs), run / "reference.npz")
        with pytest.raises(InputError, match="do not fit its program"):
            go_on(run)


def test_a_foreign_cluster_is_not_asked(run: Path, cache: Path) -> None:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        options = json.loads(db.execute("SELECT options FROM run").fetchone()[0])
        db.execute("UPDATE run SET options = ?", (json.dumps(options | {"cluster": "tcp://192.0.2.1:8786"}),))
        db.commit()
    with pytest.raises(InputError, match=r"192.0.2.1.*--cluster none"):
        go_on(run)
    go_on(run, trust=True)


@in_turn
def test_a_foreign_run_is_exported_without_its_text(histogram: Path, cache: Path, tmp_path: Path) -> None:
    mark, script = tmp_path / "ran", tmp_path / "script"
    script.write_text(f"echo > {mark}\n")
    with closing(sqlite3.connect(histogram / "run.sqlite")) as db:
        options = json.loads(db.execute("SELECT options FROM run").fetchone()[0])
        options["compilation"]["cflags"] = ["-wrapper", f"sh,{script}"]
        db.execute("UPDATE run SET options = ?", (json.dumps(options),))
        db.commit()
    with read_store(histogram) as store:
        files = export(store, Kind.opencl, None, tmp_path / "exported")
    assert not mark.exists()
    assert any(FOREIGN in file.read_text() for file in files)
    with read_store(histogram) as store:
        export(store, Kind.opencl, None, tmp_path / "again", trust=True)
    assert mark.exists()  # so the flags were real


@pytest.mark.parametrize(
    "made",
    [
        ("ALTER TABLE outcome RENAME TO old; CREATE VIEW outcome AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT "
        "x + 1 FROM n) SELECT * FROM n, old"),
        "CREATE TRIGGER t AFTER INSERT ON evaluation BEGIN UPDATE run SET seed = 5; END",
        "CREATE VIRTUAL TABLE v USING fts4(x)",
    ],
)
def test_a_store_that_computes_is_refused(made: str, run: Path) -> None:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        db.executescript(made)
    for opened in (read_store, open_store):
        with pytest.raises(InputError, match="is damaged: it has a view or trigger"):
            opened(run)


def test_links_are_not_written_through(run: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("precious\n")
    (run / "run.lock").unlink()
    (run / "run.lock").symlink_to(mine)
    with pytest.raises(InputError, match="is a link"):
        open_store(run)
    assert mine.read_text() == "precious\n"


def test_reports_are_not_written_through_links(tmp_path: Path) -> None:
    mine, report = tmp_path / "mine", tmp_path / "report.html"
    mine.write_text("precious\n")
    for link in (report, tmp_path / f".report.html.{os.getpid()}"):
        link.symlink_to(mine)
    write_atomically(report, "<p>")
    assert mine.read_text() == "precious\n" and report.read_text() == "<p>" and not report.is_symlink()


def test_a_moved_run_stays_ones_own(run: Path, tmp_path: Path) -> None:
    run.rename(tmp_path / "moved")
    assert is_own(tmp_path / "moved")
    rewrite(tmp_path / "moved", statement(line=4))
    assert not is_own(tmp_path / "moved")


def test_without_a_place_for_a_key_runs_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    tune(toy_options(toy_source(tmp_path), 4), tmp_path / "run", Log(), toy_parts(ToyRunner()))
    assert not is_own(tmp_path / "run")
    go_on(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a = b;", "a = b;"),
        ("a\r\nb", "a b"),
        ("a \\", "a"),
        ("a ??/", "a"),
        ("a\\\\\\", "a"),
        ("\x1b[2Jx", "[2Jx"),
        ("x" * 300, "x" * (MOST - 3) + "..."),
        ("a\u2028b\u202ec", "a b c"),
    ],
)
def test_the_end_of_a_comment_is_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_a_terminal_is_not_spoken_to() -> None:
    assert printable("fine\n\té \x1b]0;title\x07") == "fine\n\té ?]0;title?"
    told = PROGRAM.statements[0].text
    assert printable(told) == told


def test_paths_in_commands_are_words_and_no_options() -> None:
    assert command("resume", Path("-my runs/gemm-1")) == "antune resume './-my runs/gemm-1'"
    assert [shell_word(path) for path in ("a.c", Path("-a.c"), "a b", "%s")] == ["a.c", "./-a.c", "'a b'", "%s"]


def test_workers_run_where_compilers_can_quote_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of killed runners there are removed, those of others are not."""
    (odd := tmp_path / 'a" -x').mkdir()
    (elsewhere := tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    assert _own_folder(tmp_path).parent == tmp_path.resolve()
    first = _own_folder(odd)
    assert first.parent == elsewhere.resolve() and not list(odd.iterdir())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    killed = first.rename(first.with_name(first.name.replace(str(os.getpid()), str(ended.pid))))
    assert _own_folder(odd).is_dir() and not killed.exists()
    assert _own_folder(odd) and len(list(elsewhere.iterdir())) == 2

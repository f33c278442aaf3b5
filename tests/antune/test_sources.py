"""`antune.tune` of what has no file: C text, pipelines and templates that the calling program built."""

from __future__ import annotations

import builtins
import functools
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import antune
from antune import halide as hl
from antune.reporters import Notebook, in_notebook
from antune.template import Tunable, output, template
from experiments.exports.chosen import choose
from experiments.exports.signature import signature_of
from experiments.search.reproducing import reproduce_command
from experiments.values.records import Result as Evaluated
from generator.errors import InputError
from tests.support.paths import ROOT
from tests.support.runs import Log
from tests.support.slow import few, in_turn

TEXT = """
static float a[64][64], b[64][64];
int main(void) {
  for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j++) a[i][j] = (i * j) % 7;
#pragma scop
  for (int i = 1; i < 63; i++)
    for (int j = 0; j < 64; j++)
      b[i][j] = a[i - 1][j] + a[i + 1][j];
#pragma endscop
  return (int)b[3][3];
}
"""
SIZES = {"width": 40, "height": 30}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tune(source: Any, evaluations: int = 3, **words: Any) -> antune.Result:
    return antune.tune(source, evaluations=evaluations, device="deterministic", **{"reporter": "silent", **words})


def sharpened(weight: int = 2) -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    image, func = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("sharpened")
    func[x, y] = weight * image[x, y] - image[x + 1, y]
    return func


def scaling() -> Tunable:
    text = """__kernel void scale(__global float *b, __global const float *a) {
        b[get_global_id(0)] = a[get_global_id(0)];
    }"""
    a = np.ones(1024, np.float32)
    return template(text, "scale", {"size": [32, 64, 128]}, {"b": output(a.size), "a": a}, grid="1024 / size",
                    block="size", answer={"b": a})


def test_a_pipeline_needs_no_file_and_goes_on_without_its_program(folder: Path) -> None:
    result = tune([sharpened()], parameters=SIZES)
    assert result.best is not None and result.best.plan.schedule is not None
    assert result.directory.parent == folder / "antune-runs"
    (folder / "antune-runs").rename(folder / "elsewhere")
    directory = Path("elsewhere", result.directory.name)
    assert antune.resume(directory, evaluations=4, reporter="silent").summary.evaluations == 4
    with antune.read_store(directory) as store:
        info = store.info()
        assert "sharpened" in info.source_text and info.program.sizes == tuple(SIZES.items())
        assert reproduce_command(info).startswith(f"python {__file__}  # its antune.tune was told --param width=40")
        assert [p.name for p in signature_of(choose(store, None, True)).parameters] == [
            "width", "height", "image", "sharpened"]


@in_turn
def test_a_function_gets_its_parameters() -> None:
    texts = []
    for weight in (2, 5):
        directory = tune(sharpened, 1, parameters={**SIZES, "weight": weight}).directory
        with antune.read_store(directory) as store:
            texts.append(store.info().program.statements[0].text)
    assert "2" in texts[0] and "5" in texts[1] and texts[0] != texts[1]


def test_a_template_needs_no_file() -> None:
    result = tune(scaling())
    assert result.best is not None and result.best.parameters["size"] in (32, 64, 128)
    assert "over sequential" not in repr(result)
    assert {row["size"] for row in records(result)} == {32, 64, 128}


def test_c_text_becomes_a_file_of_its_run(folder: Path) -> None:
    result = tune(TEXT, 1, name="rows")
    assert result.directory.name == "rows-1" and (result.directory / "rows.c").read_text() == TEXT
    assert tune(hl.Pipeline(sharpened()), 1, parameters=SIZES, out="here").directory == folder / "here"
    with pytest.raises(InputError, match="here holds a run already; choose another `out`"):
        tune(TEXT, out="here")
    with pytest.raises(InputError, match="no SCoP found"):
        tune("int main(void) {\n  return 0;\n}\n", out="nothing")
    assert not (folder / "nothing").exists(), "a run that never began leaves no folder"


def test_c_text_leaves_files_of_the_user_alone(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "rows.c").write_text("int mine;")
    with pytest.raises(InputError, match=r"rows.c is there already, and the text that is tuned would replace it"):
        tune(TEXT, 1, name="rows", out="mine")
    assert (folder / "mine" / "rows.c").read_text() == "int mine;"
    (folder / "file").write_text("")
    with pytest.raises(InputError, match="file is there already"):
        tune(TEXT, 1, name="rows", out="file")


def records(result: antune.Result) -> list[dict[str, Any]]:
    table = result.table
    return table if isinstance(table, list) else table.to_dict("records")


def test_a_result_is_a_table_with_and_without_pandas_and_a_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    result = tune(sharpened, parameters=SIZES)
    real = builtins.__import__

    def without(name: str, *rest: Any) -> ModuleType:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert isinstance(result.table, list)
    rows = records(result)
    assert [row["evaluation"] for row in rows] == [0, 1, 2, 3] and result.best_ms in [row["ms"] for row in rows]
    assert all((row["ms"] is None) == (row["status"] != "timed") and row["decisions"] for row in rows)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda rows: ("frame", rows)))
    monkeypatch.setattr(builtins, "__import__", real)
    table: object = result.table
    assert table == ("frame", rows)
    assert result.plot().axes[0].get_ylabel() == "time [ms]"
    assert "<table>" in result._repr_html_() and "default plan" in result._repr_html_()


@in_turn
@pytest.mark.parametrize(("name", "fit"), few([("3 grün", "3_gr_n"), ("x" * 300, "x" * 200), ("a b/c", "a_b_c"),
                                               ("", "run")], 2))
def test_any_name_makes_a_run_that_goes_on(name: str, fit: str, folder: Path) -> None:
    done = tune(sharpened(), 1, parameters={"width": np.int64(8), "height": 6}, name=name)
    assert done.directory == folder / "antune-runs" / f"{fit}-1"
    assert antune.resume(done.directory, evaluations=2, reporter="silent").summary.name == fit


def test_a_result_stays_where_it_is_and_parameters_have_columns_of_their_own(
        folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """__kernel void scale(__global float *b, __global const float *a) {
        b[get_global_id(0)] = a[get_global_id(0)];
    }"""
    a = np.ones(128, np.float32)
    result = tune(template(text, "scale", {"ms": [32, 64]}, {"b": output(a.size), "a": a}, grid="128 / ms", block="ms",
                           answer={"b": a}), 1, out="here")
    (folder / "away").mkdir()
    monkeypatch.chdir(folder / "away")
    assert {row["ms_"] for row in records(result)} <= {32, 64} and all(row["ms"] not in (32, 64) for row in
                                                                       records(result))


def test_a_function_hears_of_every_evaluation_and_may_end_the_search() -> None:
    heard: list[Evaluated] = []
    directory = tune(TEXT, on_result=heard.append).directory
    assert sorted(one.evaluation.number for one in heard) == [0, 1, 2, 3]

    def tired(result: Evaluated) -> None:
        if result.evaluation.number:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        antune.resume(directory, evaluations=9, reporter="silent", on_result=tired)
    with antune.read_store(directory) as store:
        assert len(store.results()) == 5, "what was measured is kept"
    assert antune.resume(directory, evaluations=9, reporter="silent").summary.evaluations == 9


class Counting(Log):
    """A reporter that is false at first."""

    def __len__(self) -> int:
        return len(self.results)


def test_a_reporter_that_is_false_hears_everything() -> None:
    log = Counting()
    tune(TEXT, 1, reporter=log)
    assert len(log) == 2
    with pytest.raises(InputError, match=r"which has no method note; use one of silent, .*, or an object with note"):
        tune(TEXT, 1, reporter=[])


@pytest.mark.parametrize(("source", "words", "message"), [
    (3, {}, "int cannot be tuned; give a file, C text"), (lambda: 5, {}, "int cannot be tuned"),
    ([1], {}, "returns list; return the output Func"), (sharpened(), {"parameters": {"n": 3}}, "parameters has 'n'"),
    (functools.partial(sharpened, weight=3), {}, "a partial cannot be tuned, although it can be called"),
    (print, {}, "cannot be tuned, although"), (Log, {}, "the class Log cannot be tuned"),
    (sharpened(), {"parameters": {"width": "x"}}, "parameters has 'width': 'x'; use names and numbers"),
    (sharpened(), {"parameters": {"width": 16.5}}, "width = 16.5: sizes are whole numbers"),
    (TEXT, {"evaluations": 1.5}, "--evaluations is 1.5; use a whole number above 0"),
    (TEXT, {"minutes": "3"}, "--minutes is '3'; use a number above 0"), (TEXT, {"name": 3}, "name is 3; give a text"),
    (sharpened(), {"parameters": SIZES, "defines": ["A"]}, "what is said of C files"),
    (sharpened, {"parameters": {"n": 3}}, "has no argument of that name"), (sharpened(), {}, "unknown how large")])
def test_what_cannot_be_tuned_is_one_sentence(source: Any, words: dict[str, Any], message: str, folder: Path) -> None:
    with pytest.raises(InputError, match=message):
        tune(source, **words)
    assert not (folder / "antune-runs").exists()


def test_a_notebook_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, content: str) -> None:
            shown.append(content)

    def display(content: str, display_id: bool) -> Handle:
        shown.append(content)
        return Handle()

    fake = ModuleType("IPython.display")
    fake.HTML, fake.display = str, display  # type: ignore[attr-defined]  # a stand-in for a module
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    assert in_notebook()
    tune(TEXT, reporter=None)
    assert "<progress max='3' value='3'" in shown[-1] and "iteration 1" in shown[-1]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not in_notebook() and isinstance(Notebook(), Notebook)


@in_turn
def test_the_pages_examples_of_sources_run(folder: Path) -> None:
    page = (ROOT / "docs" / "python.md").read_text().partition("## What can be tuned without a file")[2]
    blocks = page.partition("\n## ")[0].split("```python\n")[1:]
    source = "\n".join(block.partition("```")[0] for block in blocks).replace("pocl", "deterministic")
    (folder / "page.py").write_text(f"import antune\n{source}")
    runpy.run_path(str(folder / "page.py"))
    assert (folder / "smooth.png").stat().st_size > 1000

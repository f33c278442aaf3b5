"""Explorers that other packages bring by an entry point: what is wrong with them is one clear error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from explorer.registry import find_maker, make_explorer
from generator.errors import InputError
from tests.support.cli import Antune, antune_command
from tests.support.programs import write_c
from tests.support.spaces import FlatSpace

MODULE = """
from explorer.random_walk import RandomWalk
from generator.errors import InputError

class Good(RandomWalk):
    def __init__(self, space, seed, starts):
        super().__init__(space, seed)

class Two(RandomWalk):
    def __init__(self, space, seed):
        super().__init__(space, seed)

class Fails:
    def __init__(self, space, seed, starts):
        len(seed)

class Picky:
    def __init__(self, space, seed, starts):
        raise InputError("this explorer needs two starts")

class Deaf:
    def __init__(self, space, seed, starts):
        self.ask = lambda count: ()

class Mute(Deaf):
    def __init__(self, space, seed, starts):
        self.ask, self.tell = (lambda: ()), (lambda walk, outcome: None)

def function(space, seed, starts):
    return Good(space, seed, starts)

def forgets(space, seed, starts):
    Good(space, seed, starts)

number = 3
"""
NAMES = ("Good", "Two", "Fails", "Picky", "Deaf", "Mute", "function", "forgets", "number", "missing")
EXPECTED = ("expected is `maker(space, seed, starts)`, which returns an object with `ask(count)` and "
            "`tell(walk, outcome)`")


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with entry points, as pip leaves it; some of its modules cannot be imported."""
    info = tmp_path / "odd_explorers-1.0.dist-info"
    info.mkdir()
    (tmp_path / "odd_explorers.py").write_text(MODULE)
    (tmp_path / "odd_divides.py").write_text("1 / 0")
    (tmp_path / "odd_leaves.py").write_text("raise SystemExit('no licence')")
    (tmp_path / "odd_typo.py").write_text("class Typo(:\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-explorers\nVersion: 1.0\n")
    modules = "".join(f"{name} = odd_{name}:Any\n" for name in ("divides", "leaves", "typo"))
    entries = "".join(f"{name} = odd_explorers:{name}\n" for name in NAMES)
    (info / "entry_points.txt").write_text(f"[antune.explorers]\n{entries}{modules}")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("name", ["Good", "function"])
def test_classes_and_functions_make_explorers(name: str) -> None:
    assert len(make_explorer(name, FlatSpace((3, 3)), 0).ask(4)) == 4


@pytest.mark.parametrize(("name", "why"), [
    ("divides", "(odd_divides:Any of the package odd-explorers) cannot be imported: ZeroDivisionError: "),
    ("leaves", "(odd_leaves:Any of the package odd-explorers) cannot be imported: SystemExit: no licence"),
    ("typo", "(odd_typo:Any of the package odd-explorers) cannot be imported: SyntaxError: invalid syntax"),
    ("missing", "(odd_explorers:missing of the package odd-explorers) cannot be imported: AttributeError: "),
    ("Two", f"(odd_explorers:Two of the package odd-explorers) takes other arguments, `(space, seed)`; {EXPECTED}"),
    ("number", f"(odd_explorers:number of the package odd-explorers) is 'int', which cannot be called; {EXPECTED}"),
])
def test_what_makes_none_is_refused_before_anything_is_run(name: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"the explorer {name!r} {why}")):
        find_maker(name)


@pytest.mark.parametrize(("name", "why"), [
    ("Deaf", f"(odd_explorers:Deaf) returned 'Deaf', whose `tell` is missing or takes other arguments; {EXPECTED}"),
    ("Mute", "(odd_explorers:Mute) returned 'Mute', whose `ask` is missing or takes other arguments"),
    ("forgets", "(odd_explorers:forgets) returned 'NoneType', whose `ask` is missing"),
    ("Fails", "(odd_explorers:Fails) cannot be made: its own code raised TypeError: object of type 'int' has no len()"),
])
def test_what_is_made_must_be_an_explorer(name: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"the explorer {name!r} {why}")):
        make_explorer(name, FlatSpace((3, 3)), 0)


def test_an_explorer_may_refuse_in_its_own_words() -> None:
    with pytest.raises(InputError, match=r"^this explorer needs two starts$"):
        make_explorer("Picky", FlatSpace((3, 3)), 0)


@pytest.mark.parametrize("name", ["divides", "Two", "Deaf", "Fails"])
def test_commands_say_it_in_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    text = "double x[9];\nvoid f(void) {\n#pragma scop\nfor (int i = 0; i < 9; i++) x[i] = i;\n#pragma endscop\n}\n"
    file = write_c(text, tmp_path)
    command: Antune = antune_command(monkeypatch)
    assert command("tune", str(file), "--explorer", name, "--evaluations", "2", "--device", "deterministic",
                   "--out", str(tmp_path / "run")) == 2
    err = capsys.readouterr().err
    assert f"the explorer {name!r} (odd_" in err and "Traceback" not in err

"""The rules of the house that other tools do not check: sizes, docstrings, what documents promise, where tests lie."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT, TESTS

ROOMS = ("antune", "experiments", "explorer", "generator", "graph", "metrics", "runners")
FILES = sorted(path for room in (*ROOMS, "tests") for path in (ROOT / room).rglob("*.py"))
MAX_FILE, MAX_FUNCTION = 400, 40
NO_ROOMS = ("gpu", "support", "whole")  # folders of tests that mirror none
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(tree: ast.AST) -> Iterator[Definition]:
    for node in ast.walk(tree):
        if isinstance(node, Definition):
            yield node


def public(tree: ast.AST) -> Iterator[Definition]:
    """Definitions that can be reached from outside: not private, not inside a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_FILE
    for node in definitions(ast.parse(text)):
        if not isinstance(node, ast.ClassDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", [p for p in FILES if not p.is_relative_to(TESTS)],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert len(ast.get_docstring(tree) or "") > 10, "the module says nothing about itself"
    for node in public(tree):
        assert ast.get_docstring(node), f"{node.name} has no docstring"


NAMED = re.compile(r"""(==|!=|\bin|\bcase)\s*\(?["'](cuda|opencl|hip)["']""")


@pytest.mark.parametrize("path", [p for p in FILES if not p.is_relative_to(ROOT / "tests")],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_asks_which_dialect_it_is(path: Path) -> None:
    """What a dialect can do is a field of `generator.target.Language`, what a driver can do one of
    `runners.backend.Backend`.
    """
    found = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if NAMED.search(line)]
    assert not found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_the_type_checker_must_ignore_has_a_reason(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.search(r"# type: ignore(\[[a-z, -]*\])?$", line)] == []


def test_every_room_has_a_sign() -> None:
    for room in ROOMS:
        assert len((ROOT / room / "__init__.py").read_text(encoding="utf-8")) > 200, room


def test_readme_and_ci_agree_on_the_two_commands() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for beginning in ('python3 -m venv .venv && .venv/bin/pip install -e .', '.venv/bin/pip install -e ".[dev]"'):
        assert beginning in readme
        assert beginning in ci


def named_paths(document: str) -> list[str]:
    """The files and folders of this repository that a document names."""
    words = (ROOT / document).read_text(encoding="utf-8").replace("`", " ").replace("(", " ").replace(")", " ").split()
    paths = {word.strip(".,;:[]") for word in words if "*" not in word}
    return sorted(path for path in paths if "/" in path and path.split("/")[0] in (*ROOMS, "tests", "docs"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_documents_name_exist(document: str) -> None:
    assert [path for path in named_paths(document) if not (ROOT / path).exists()] == []


def test_documents_name_files() -> None:
    assert len(named_paths("README.md")) > 10 and sum(len(named_paths(document)) for document in DOCUMENTS) > 100


def test_tests_mirror_the_rooms() -> None:
    folders = [path.relative_to(TESTS) for path in TESTS.rglob("*") if (path / "__init__.py").exists()]
    assert [str(path) for path in folders if path.parts[0] not in NO_ROOMS and not (ROOT / path).is_dir()] == []
    assert [path.name for path in TESTS.glob("test_*.py")] == ["test_house.py"]


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_tests_import_helpers_and_no_tests(path: Path) -> None:
    """Also in programs that a test writes: a helper has its place in `tests.support`."""
    imports = re.findall(r"^\s*(?:from|import)\s+tests\b.*", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert [line for line in imports if not re.match(r"\s*from tests\.support(\.\w+)? import ", line)] == []


def test_the_sign_of_the_helpers_names_each() -> None:
    sign = (TESTS / "support" / "__init__.py").read_text(encoding="utf-8")
    assert [path.stem for path in (TESTS / "support").glob("[a-z]*.py") if f"`{path.stem}`" not in sign] == []

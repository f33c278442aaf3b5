"""The rules of the house that other tools do not check: sizes, docstrings, what the README promises."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("antune", "experiments", "explorer", "generator", "graph", "metrics", "runners")
FILES = sorted(path for room in (*ROOMS, "tests") for path in (ROOT / room).rglob("*.py"))
MAX_FILE, MAX_FUNCTION = 400, 40

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


@pytest.mark.parametrize("path", [p for p in FILES if not p.is_relative_to(ROOT / "tests")],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert len(ast.get_docstring(tree) or "") > 10, "the module says nothing about itself"
    for node in public(tree):
        assert ast.get_docstring(node), f"{node.name} has no docstring"


def test_every_room_has_a_sign() -> None:
    for room in ROOMS:
        assert len((ROOT / room / "__init__.py").read_text(encoding="utf-8")) > 200, room


def test_readme_and_ci_agree_on_the_two_commands() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for beginning in ('python3 -m venv .venv && .venv/bin/pip install -e .', '.venv/bin/pip install -e ".[dev]"'):
        assert beginning in readme
        assert beginning in ci


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_files_that_documents_name_exist(document: str) -> None:
    words = (ROOT / document).read_text(encoding="utf-8").replace("`", " ").replace("(", " ").replace(")", " ").split()
    paths = {word.strip(".,;:[]") for word in words if "*" not in word}
    paths = {path for path in paths if "/" in path and path.split("/")[0] in ROOMS}
    assert paths
    missing = [path for path in sorted(paths) if not (ROOT / path).exists()]
    assert not missing

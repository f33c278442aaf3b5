"""The rules of the house that other tools do not check: sizes, docstrings, what documents promise, where tests lie."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.order import LONG
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


def too_long(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if (lines := len(text.splitlines())) > MAX_FILE:
        yield f"{lines} lines"
    for node in definitions(ast.parse(text)):
        if not isinstance(node, ast.ClassDef) and (lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION:
            yield f"{node.name} has {lines} lines"


def without_docstring(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if len(ast.get_docstring(tree) or "") <= 10:
        yield "the module says nothing about itself"
    yield from (f"{node.name} has no docstring" for node in public(tree) if not ast.get_docstring(node))


NAMED = re.compile(r"""(==|!=|\bin|\bcase)\s*\(?["'](cuda|opencl|hip)["']""")


def asking_for_the_dialect(path: Path) -> Iterator[str]:
    """What a dialect can do is a field of `generator.target.Language`, what a driver can do one of
    `runners.backend.Backend`.
    """
    yield from (line.strip() for line in path.read_text(encoding="utf-8").splitlines() if NAMED.search(line))


def ignored_without_reason(path: Path) -> Iterator[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    yield from (line for line in lines if re.search(r"# type: ignore(\[[^\]]*\])?[\s#]*$", line))


def imported_from_tests(path: Path) -> Iterator[str]:
    """Also in programs that a test writes: a helper has its place in `tests.support`."""
    imports = re.findall(r"^\s*(?:from|import)\s+tests\b.*", path.read_text(encoding="utf-8"), re.MULTILINE)
    yield from (line for line in imports if not re.match(r"\s*from tests\.support(\.\w+)? import ", line))


PRODUCT = [path for path in FILES if not path.is_relative_to(TESTS)]
RULES: dict[Callable[[Path], Iterator[str]], list[Path]] = {
    too_long: FILES, without_docstring: PRODUCT, asking_for_the_dialect: PRODUCT, ignored_without_reason: FILES,
    imported_from_tests: sorted(TESTS.rglob("*.py"))}


@pytest.mark.parametrize("breaches", RULES, ids=lambda rule: rule.__name__)
def test_no_file_breaks_the_rule(breaches: Callable[[Path], Iterator[str]]) -> None:
    """One test per rule and not per file: a test costs more than a look at a file."""
    found = [f"{path.relative_to(ROOT)}: {what}" for path in RULES[breaches] for what in breaches(path)]
    assert len(RULES[breaches]) > 200 and found == []


@pytest.mark.parametrize(("breaches", "text", "what"), [
    (too_long, "\n" * 401, "401 lines"), (too_long, "def f():\n" + "    1\n" * 40, "f has 41 lines"),
    (without_docstring, "x = 1\n", "the module says nothing about itself"),
    (without_docstring, '"""A module of a test."""\nclass A:\n    pass\n', "A has no docstring"),
    (asking_for_the_dialect, 'if dialect == "cuda":\n', 'if dialect == "cuda":'),
    (ignored_without_reason, "x = y  # type: ignore[misc]\n", "x = y  # type: ignore[misc]"),
    (imported_from_tests, "from tests.antune.test_cli import x\n", "from tests.antune.test_cli import x")])
def test_a_breach_is_found(breaches: Callable[[Path], Iterator[str]], text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(text)
    assert list(breaches(tmp_path / "module.py")) == [what]


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
    paths = {word.partition("#")[0].strip(".,;:[]") for word in words if "*" not in word}
    return sorted(path for path in paths if "/" in path and path.split("/")[0] in (*ROOMS, "tests", "docs"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_documents_name_exist(document: str) -> None:
    assert [path for path in named_paths(document) if not (ROOT / path).exists()] == []


def test_documents_name_files() -> None:
    assert len(named_paths("README.md")) > 10 and sum(len(named_paths(document)) for document in DOCUMENTS) > 100


def test_files_of_long_tests_exist() -> None:
    assert [name for name in LONG if not (TESTS / name).is_file()] == []


def test_tests_mirror_the_rooms() -> None:
    folders = [path.relative_to(TESTS) for path in TESTS.rglob("*") if (path / "__init__.py").exists()]
    assert [str(path) for path in folders if path.parts[0] not in NO_ROOMS and not (ROOT / path).is_dir()] == []
    assert [path.name for path in TESTS.glob("test_*.py")] == ["test_house.py"]


def test_the_sign_of_the_helpers_names_each() -> None:
    sign = (TESTS / "support" / "__init__.py").read_text(encoding="utf-8")
    assert [path.stem for path in (TESTS / "support").glob("[a-z]*.py") if f"`{path.stem}`" not in sign] == []

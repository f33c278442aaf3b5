"""Changes of modules in child processes of tests: `sitecustomize` waits for the import of a module there."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.paths import ROOT


def changed_children(folder: Path, text: str) -> Mapping[str, str]:
    """Return environment variables of processes that run `text` when they start."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(text)
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}  # these files, also where another checkout is installed


class Hook(importlib.abc.MetaPathFinder):
    """Finds the module `name` as usual, once, and changes it after its import."""

    def __init__(self, name: str, change: Callable[[Any], None]) -> None:
        self._name, self._change = name, change

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None and spec.loader is not None
        loader: Any = spec.loader
        plain = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            plain(module)
            self._change(module)

        loader.exec_module = exec_module
        return spec


def after_import(name: str, change: Callable[[Any], None]) -> None:
    """Change the module `name` as soon as this process imports it."""
    sys.meta_path.insert(0, Hook(name, change))

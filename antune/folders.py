"""antune's folders are top-level packages: a user's `metrics.py` or `graph.py` may hide one of them.

antune then imports its own folders all the same, and a warning names the file. If the user's module is already
imported, there can be no second one of that name, so an error names it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("experiments", "explorer", "generator", "graph", "metrics", "runners")


class OwnFolders:
    """A finder that finds only antune's folders."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """See importlib.abc.MetaPathFinder."""
        del target
        if path is not None or name not in FOLDERS:
            return None
        folder = ROOT / name
        return spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])


def take_own_folders() -> None:
    """Make sure that antune's folders are found, whatever precedes them on `sys.path`.

    Raises:
        ImportError: another module with the name of a folder is already imported.
    """
    for name in FOLDERS:
        loaded = sys.modules.get(name)
        if loaded is not None and (place := _foreign(getattr(loaded, "__file__", None))):
            raise ImportError(
                f"{place} is imported as `{name}`, which is the name of a folder of antune: rename the file, or import "
                "antune before it"
            )
    hiding = [place for name in FOLDERS if name not in sys.modules and (found := PathFinder.find_spec(name)) is not None
              and (place := _foreign(found.origin or next(iter(found.submodule_search_locations or ()), None)))]
    if hiding:
        sys.meta_path.insert(0, OwnFolders)
        warnings.warn(
            f"antune has folders of the same names as {', '.join(hiding)}: as long as antune is imported, `import` "
            f"finds "
            "antune's; rename yours to use them in the same program",
            stacklevel=3,
        )


def _foreign(place: str | None) -> str | None:
    """Return `place` if it is a file or folder outside antune's."""
    return place if place and not Path(place).resolve().is_relative_to(ROOT) else None

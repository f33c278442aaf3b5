"""Fill in the files `*.in`: `@NAME@` is replaced by a text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from importlib import resources


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the text of the file `template` with every `@NAME@` replaced. Raises KeyError if a value is missing."""
    text = resources.files(__package__).joinpath(template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z_]+)@", lambda found: values[found[1]], text)


def comment(lines: list[str]) -> str:
    """Return a C comment with these lines."""
    safe = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in safe) + " */\n"


def c_string(text: str) -> str:
    """Return a C string literal on one line."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if "??" in plain:  # C has trigraphs
        plain = plain.replace("?", "\\?")
    return f'"{plain}"'


def cases(selector: str, texts: Sequence[str]) -> str:
    """Return C statements that run the element of `texts` numbered `selector`; without a choice, the only one."""
    if len(texts) == 1:
        return texts[0]
    inside = [f"    case {number}: {{\n{textwrap.indent(text, '    ')}      break;\n    }}\n"
              for number, text in enumerate(texts)]
    return f"  switch ({selector}) {{\n{''.join(inside)}  }}\n"


def chain(calls: list[str]) -> str:
    """Return a C expression that is 0 if all calls return 0, and stops at the first that does not."""
    return "\n      || ".join(calls) if calls else "0"

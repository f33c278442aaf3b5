"""Random expressions over all types mean what the C compiler says: as values, as conditions, as subscripts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generator.frontend_c.source import Compilation
from tests.support.devices import check_default_plan
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn

KINDS = (
    "_Bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "long",
    "unsigned long",
    "float",
    "double",
)
WHOLE = KINDS[:-2]
STATEMENTS, POINTS = 20, 8


class Expressions:
    """Random expressions whose value C defines: no signed overflow, no division by 0, small shifts, integers for
    integer operators.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, *options: str) -> str:
        return options[int(self.rng.integers(len(options)))]

    def leaf(self, kinds: tuple[str, ...]) -> str:
        number = str(self.rng.integers(0, 10))
        plain = [f"v_{self.pick(*kinds).replace(' ', '_')}[i]" for _ in range(4)]
        more = ["i", number, f"{number}u", f"{number}L", f"'{number}'"]
        return self.pick(*plain, *more, *(() if kinds is WHOLE else (f"{number}.5", f"{number}.25f")))

    def value(self, depth: int, kinds: tuple[str, ...] = KINDS) -> str:
        """An expression; of integers alone where `kinds` are."""
        if depth == 0:
            return self.leaf(kinds)
        one, other = (self.value(depth - 1, kinds) for _ in range(2))
        whole, small = (self.value(depth - 1, WHOLE) for _ in range(2))
        forms = [
            f"({one} {self.pick('+', '-')} {other})",
            f"({one} {self.pick('<', '<=', '>', '>=', '==', '!=')} {other})",
            f"({one} {self.pick('&&', '||')} {other})",
            f"({one} ? {other} : {whole})",
            f"!{one}",
            f"-{self.leaf(kinds)}",
            f"({self.leaf(kinds)} * {self.leaf(kinds)})",
            f"({self.pick(*kinds)})({self.leaf(WHOLE)} * 3 - 7)",
            f"({whole} {self.pick('&', '|', '^')} {small})",
            f"({whole} {self.pick('/', '%')} (({small} & 7) + 1))",
            f"(({whole} & 255) {self.pick('<<', '>>')} ({small} & 3))",
            f"v_int[{whole} & 7]",
            f"~{whole}",
        ]
        return self.pick(*forms)

    def statement(self, number: int) -> tuple[str, str]:
        """The declaration of an array, and a statement of the loop that writes it."""
        kind = self.pick(*KINDS)
        target = f"o{number}[i]"
        value = self.value(3, WHOLE if kind.startswith("unsigned") else KINDS)
        if kind not in ("float", "double"):  # what does not fit into an integer has no value
            value = self.value(3, WHOLE)
        form = self.pick(
            f"{target} = {value};",
            f"{target} = {value};",
            f"if ({self.value(2)}) {target} = {value}; else {target} = 3;",
            f"{target} += {value};",
            f"o{number}[({self.value(2, WHOLE)} & 0) + i] = {value};",
        )
        return f"static {kind} o{number}[{POINTS}];\n", form


def program(seed: int) -> str:
    made = Expressions(seed)
    statements = [made.statement(number) for number in range(STATEMENTS)]
    declared = "".join(declaration for declaration, _ in statements)
    data = "".join(f"static {kind} v_{kind.replace(' ', '_')}[{POINTS}];\n" for kind in KINDS)
    filled = " ".join(
        f"v_{kind.replace(' ', '_')}[k] = (k * {5 + number} + {number}) % 19 - {0 if 'unsigned' in kind else 7};"
        for number, kind in enumerate(KINDS)
    )
    shown = " + ".join(f"o{number}[3]" for number in range(STATEMENTS))
    body = "\n".join(f"    {text}" for _, text in statements)
    return (
        f"#include <stdio.h>\n{data}{declared}int main(void) {{\n  for (int k = 0; k < {POINTS}; k++) {{ {filled} "
        f"}}\n#pragma scop\n"
        f'  for (int i = 0; i < {POINTS}; i++) {{\n{body}\n  }}\n#pragma endscop\n  printf("%f\\n", '
        f'(double)({shown}));\n  return 0;\n}}\n'
    )


def check(seed: int, folder: Path) -> None:
    found = read_untimed(write_c(program(seed), folder), Compilation(), None, None, {}, 0)
    check_default_plan(found)


@in_turn
@pytest.mark.parametrize("seed", few(range(2), 1))
def test_random_expressions(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 250, 10))
def test_five_thousand_random_expressions(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 10):
        (tmp_path / str(seed)).mkdir()
        check(seed, tmp_path / str(seed))

"""Compare the arguments in a kernel's text with those that it will get.

Types that the text itself defines (typedefs, templates, macros) are not resolved: they fit everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generator.contract import Array
from generator.errors import InputError, Location
from generator.target import LANGUAGES
from generator.templates.template import Template

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_WORDS = {"float": "float", "double": "double", "half": "half", "int": "int", "uint": "unsigned int",
          "unsigned": "unsigned int", "long": "long", "ulong": "unsigned long", "char": "char",
          "uchar": "unsigned char", "short": "short", "ushort": "unsigned short", "size_t": "unsigned long",
          "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
          "int8_t": "char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short"}
_IMAGE = re.compile(r"\b(image(1d_buffer|2d)_t|(cuda|hip)TextureObject_t)\b")
_VECTOR = re.compile(r"(float|double|half|u?int|u?long|u?char|u?short)(2|3|4|8|16)$")
_QUALIFIERS = re.compile(r"\b(__global|global|__constant|constant|__local|local|const|volatile|restrict|__restrict__|"
                         r"__restrict|__private|private|struct|signed|__read_only|__write_only|read_only|write_only)\b")


@dataclass(frozen=True, slots=True)
class Declared:
    """An argument in the text. `type`: None if unknown. `local`: shared memory, without data."""

    text: str
    pointer: bool
    type: str | None
    constant: bool
    local: bool


def without_comments(text: str) -> str:
    """Return `text` with comments replaced by spaces, so that positions stay the same."""
    return _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def declared(text: str, kernel: str) -> tuple[int, tuple[Declared, ...]] | None:
    """Return the line (from 1) of the kernel's definition and its arguments; None if the text has no such function."""
    plain = without_comments(text)
    for found in re.finditer(rf"\b{re.escape(kernel)}\s*\(", plain):
        end = _closing(plain, found.end())
        if end is not None and re.match(r"\s*[{;]", plain[end + 1:]):
            inside = plain[found.end():end].strip()
            parts = [] if inside in ("", "void") else _parts(inside)
            return plain.count("\n", 0, found.start()) + 1, tuple(_declared(part) for part in parts)
    return None


def check_arguments(template: Template) -> None:
    """Raise InputError, with the location, if the kernel is missing or takes other arguments."""
    found = declared(template.text, template.kernel)
    shown = template.file or f"the text of {template.kernel}"
    if found is None:
        if not re.search(rf"\b{re.escape(template.kernel)}\b", template.text):
            raise InputError(f"{shown} has no kernel `{template.kernel}`; give the name that it has there")
        return
    line, arguments = found
    place = Location(shown, line)
    symbols = () if LANGUAGES[template.dialect].constant_arguments else template.constants
    given = [array for array in template.arrays if array.name not in symbols]
    if local := next((one for one in arguments if one.local), None):
        raise InputError(f"the argument `{local.text}` is local memory without a size; declare it in the kernel: "
                         "`__local float tile[SIZE];`", place)
    if len(given) != len(arguments):
        raise InputError(f"`{template.kernel}` takes {len(arguments)} argument{'s' * (len(arguments) != 1)}, and "
                         f"{len(given)} are given: {', '.join(array.name for array in given) or 'none'}", place)
    for number, (array, one) in enumerate(zip(given, arguments, strict=True), 1):
        image = bool(_IMAGE.search(one.text))
        if image != (array.name in template.textures) and (image or one.type is not None or one.pointer):
            wanted = f"give texture({array.name})" if image else "give the array itself"
            raise InputError(f"argument {number} is `{one.text}`, {'a' if image else 'no'} texture, but `{array.name}` "
                             f"is {'none' if image else 'one'}; {wanted}", place)
        if not image:
            _check(array, one, number, place)


def _check(array: Array, one: Declared, number: int, place: Location) -> None:
    if one.pointer == array.by_value and one.type is not None:
        kinds = ("a value", "an array") if one.pointer else ("an array", "a value")
        raise InputError(f"argument {number} is `{one.text}`, but `{array.name}` is {kinds[0]}, not {kinds[1]}; "
                         f"{'give an array' if one.pointer else 'give a NumPy scalar'}", place)
    if one.type is not None and one.type != array.type:
        raise InputError(f"argument {number} is `{one.text}`, but `{array.name}` has the type {array.type}; convert "
                         "it, or change the text", place)


def unused_parameters(template: Template, used: set[str]) -> list[str]:
    """Return parameters with several values that are neither `used` nor words of the text or a macro."""
    words = set(re.findall(r"\w+", _COMMENT.sub(" ", template.text)))
    words |= {word for _, value in template.defines for word in re.findall(r"\w+", value)}
    return [parameter.name for parameter in template.parameters
            if len(parameter.values) > 1 and parameter.name not in used | words]


def _closing(text: str, start: int) -> int | None:
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def _parts(text: str) -> list[str]:
    """Return the arguments: the text split at commas outside of brackets."""
    parts, depth, last = [], 0, 0
    for place, sign in enumerate(text):
        depth += {"(": 1, "[": 1, "<": 1, ")": -1, "]": -1, ">": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(text[last:place])
            last = place + 1
    return [*parts, text[last:]]


def _declared(part: str) -> Declared:
    shown = " ".join(part.split())
    pointer = "*" in part or "[" in part
    words = list(re.findall(r"\w+", _QUALIFIERS.sub(" ", part.split("[")[0])))
    name = words.pop() if len(words) > 1 or (words and words[0] not in _WORDS) else ""
    unsigned = "unsigned" in words
    kinds = [word for word in words if word != "unsigned"]
    constant = bool(re.search(r"\b(const|__constant|constant)\b", part.split("*")[0]))
    local = pointer and bool(re.search(r"\b(__local|local)\b", part))
    return Declared(shown, pointer, _type(kinds, unsigned) if name else None, constant, local)


def _type(words: Sequence[str], unsigned: bool) -> str | None:
    if unsigned:
        return f"unsigned {words[0]}" if words else "unsigned int"
    if len(words) != 1:
        return "long" if words in (["long", "long"], ["long", "int"]) else None
    vector = _VECTOR.match(words[0])
    return _WORDS.get(vector[1] if vector else words[0])


def constant_pointers(text: str, kernel: str) -> Iterator[bool | None]:
    """For each argument, yield whether it points to data that the kernel may not write; None for values."""
    found = declared(text, kernel)
    for one in found[1] if found else ():
        yield one.constant if one.pointer else None

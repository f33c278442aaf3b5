"""The parameters of the exported function: those of the original function, then what the SCoP uses from outside it.

    static double x[1000];                              ->  void f(int n, double A[1000], double *s, double x[1000])
    void f(int n, double A[n]) { double s; ... }

The original declarations are read from the stored text of the tuned file. If it has none or cannot be read again (an
included file is missing), the sizes, scalars and arrays of the Program are the parameters, in this order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from experiments.exports.chosen import Chosen
from generator.errors import InputError
from generator.frontend_c.probing import needed_extents
from generator.frontend_c.source import Field, ScopSource, Variable
from generator.frontend_c.standalone import constant_extents, read_stored, scop_lines
from generator.program import Array, Program
from generator.target import LANGUAGES
from generator.templates.template import Template

Role: TypeAlias = Literal["size", "scalar", "array", "unused"]
FOREIGN = "the run was begun by somebody else; with trust they are"
_LOOPS = re.compile(r"#\s*pragma\s+scop\b|\b_Pragma\b")
_PLAIN = re.compile(r"(?:(?:const|volatile|register|signed|unsigned|char|short|int|long|float|double|_Bool)\s+)+\w+")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the exported function; `text` declares that of the original.

    Role `size`: it must equal `value`. `scalar`: the Program's scalar of that name, read only. `array`: memory of the
    Program's array, or of a scalar that the SCoP changes. `data` is a C expression: the value of a scalar or the
    address of an array. `by_address`: a scalar of the original that is passed by address, because its new value is a
    result.
    """

    name: str
    text: str
    role: Role
    data: str
    value: int = 0
    by_address: bool = False
    called: str = ""

    @property
    def argument(self) -> str:
        """The parameter's name in C: `called` if it is not empty, else `name`."""
        return self.called or self.name

    @property
    def declaration(self) -> str:
        """The declaration of the exported function's parameter."""
        return re.sub(rf"\b{self.name}\b", self.argument, self.text)

    def with_name(self, called: str) -> Parameter:
        """Return the parameter with this name in the exported function, unless it has another one already."""
        if self.called or called == self.name:
            return self
        return replace(self, called=called, data=re.sub(rf"\b{self.name}\b", called, self.data))


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters in order; `notes` describe differences from the original function.

    `sequential` are the lines of the original SCoP; None if they are not available. `in_order`: the order of the
    parameters does not depend on where the run is opened.
    """

    parameters: tuple[Parameter, ...]
    notes: tuple[str, ...]
    sequential: tuple[str, ...] | None
    in_order: bool = True

    @property
    def declarations(self) -> str:
        """The parameters as in a C prototype."""
        return ", ".join(parameter.declaration for parameter in self.parameters) or "void"

    @property
    def sequential_declarations(self) -> str:
        """The parameters of the sequential function; those that it changes by address have other names."""
        texts = [p.text.replace(f"*{p.name}", f"*antune_{p.name}") if p.by_address else p.text for p in self.parameters]
        return ", ".join(texts) or "void"

    def of_role(self, *roles: Role) -> tuple[Parameter, ...]:
        """Return the parameters with these roles, in order."""
        return tuple(parameter for parameter in self.parameters if parameter.role in roles)


_NO_C = ("The tuned file declares no parameters in C: they are the sizes, the scalars, the inputs and the results of "
         "the program, the last coordinate first; the self-check compares with the results that the run stored.")


def signature_of(chosen: Chosen) -> Signature:
    """Return the signature of the exported function."""
    info = chosen.info
    if isinstance(info.subject, Template):
        return _of_template(info.subject, chosen)
    options, program = info.options, info.program
    if Path(options.file).suffix == ".py":  # Python, even if its statements look like C
        return Signature(tuple(_of_program(program, "const ")), (_NO_C, *_truths(program)), None)
    try:
        if not chosen.own:  # preprocessing obeys the run's flags, and its loops are copied
            raise InputError(FOREIGN)
        source = read_stored(info.source_text, Path(options.file), options.compilation, options.function, options.scop)
        _check_same(source, program)
    except InputError as error:
        declared = _LOOPS.search(info.source_text) is not None  # C that cannot be read here
        return Signature(tuple(_of_program(program)), (_undeclared(info.source_text, error),), None, not declared)
    own = tuple(_own(source, program))
    more = tuple(_added(source, program))
    notes = [_what_it_does(source)]
    if more:
        notes.append(f"{_listed(more)}: no parameter of the original function, whose loops take it from elsewhere.")
    if changed := [parameter for parameter in own if parameter.by_address]:
        notes.append(f"{_listed(changed)}: passed by address, because the loops change it.")
    structures = [
        v for v in source.variables if v.components and v.name in {p.name for p in (*own, *more) if p.role == "array"}
    ]
    notes += [
        f"`{v.name}`: structures or complex numbers of {v.components} x {v.type} in the original; pass their address "
        f"as "
        f"({v.type} (*)[{v.components}])."
        for v in structures
    ]
    notes += [f"`{v.name}`: {_of_structure(v, v.field)}" for v in source.variables
              if v.field is not None and v.name in {p.name for p in (*own, *more)}]
    try:
        sequential = tuple(_sequential(source, program, (*own, *more)))
    except InputError as error:
        notes.append(f"The self-check compares with the results that were stored by the run: {error}.")
        sequential = None
    return Signature((*own, *more), tuple(notes), sequential)


def _of_template(template: Template, chosen: Chosen) -> Signature:
    """Return the kernel's own arguments in its order, including those in constant memory."""
    values = ", ".join(f"{name} = {value}" for name, value in chosen.result.evaluation.plan.parameters)
    note = (f"It does what one launch of the kernel `{template.kernel}` does with the best values of its parameters "
            f"({values}). Its parameters are the kernel's arguments; whole numbers among them may say sizes, for which "
            "the launch is made, and have to be the tuned ones. The self-check compares with the results that the run "
            "stored.")
    found, symbols = [], () if LANGUAGES[template.dialect].constant_arguments else template.constants
    for array in template.arrays:
        scalar = Parameter(array.name, f"{array.c_type} {array.name}", "scalar", array.name)
        if array.name in symbols:  # a global variable in the same file has that name
            memory = _memory(replace(array, name=f"{array.name}_values"), False, "")
            found.append(replace(memory, name=array.name, called=memory.name))
        else:
            found.append(scalar if array.by_value else _memory(array, False, ""))
    return Signature(tuple(found), (note,), None)


def _truths(program: Program) -> Iterator[str]:
    """Yield a note on the arrays of truth values, if there are any."""
    if names := [f"`{array.name}`" for array in program.passed if array.boolean]:
        yield f"{', '.join(names)}: truth values, 0 or 1."


def _undeclared(text: str, error: InputError) -> str:
    """Return a note that the original `text` could not be read as C because of `error`, so the parameters differ."""
    if _LOOPS.search(text):
        return (f"The original declarations could not be read again ({error}): the parameters are the sizes, the "
                "scalars and the arrays of the loops; the self-check compares with the results that the run stored.")
    return _NO_C


def _of_structure(variable: Variable, member: Field) -> str:
    """Return a note on an argument that is a member of a structure in the original."""
    if member.base.startswith("*"):
        place = f"{member.base[1:]}->{member.path[1:]}"
    else:
        place = member.base + ("[...]" if len(variable.extents) > member.inner else "") + member.path
    if member.pointer or not variable.extents:
        return f"{place} of the original."
    return f"{place} of the original's structures, in an array of its own; copy it there and back."


def _what_it_does(source: ScopSource) -> str:
    return (f"It does what lines {source.first_line} to {source.last_line} of {Path(source.file).name} do (between the "
            f"pragmas); what else `{source.function}` does is not part of it. All sizes are built in.")


def _listed(parameters: tuple[Parameter, ...] | list[Parameter]) -> str:
    return ", ".join(f"`{parameter.name}`" for parameter in parameters)


def _check_same(source: ScopSource, program: Program) -> None:
    """Raise InputError if an included file has changed."""
    variables = {variable.name: variable for variable in source.variables}
    for array in program.arrays:
        found = variables.get(array.name)
        if array.role == "temp":
            continue
        if found is None or found.type != array.type or len(found.extents) != len(array.own_extents):
            raise InputError(f"`{array.name}` is declared in another way now")


def _of_program(program: Program, const: str = "") -> Iterator[Parameter]:
    """Yield sizes, scalars and arrays; `const` is what the declarations of inputs begin with."""
    for name, value in program.parameters:
        yield Parameter(name, f"long {name}", "size", name, value)
    for array in program.passed:
        if array.by_value:
            yield Parameter(array.name, f"{array.c_type} {array.name}", "scalar", array.name)
    for array in program.passed:
        if not array.by_value:
            yield _memory(array, False, const if array.role == "in" else "")


def _memory(array: Array, indirect: bool, const: str) -> Parameter:
    """Return a parameter that points to an array, or to a scalar that the SCoP changes."""
    sizes = "".join(f"[{extent}]" for extent in array.own_extents)
    kind = f"{const}{array.c_type}"
    if not array.extents:
        text = f"{kind} *{array.name}"
    else:
        text = f"{kind} (*{array.name}){sizes}" if indirect else f"{kind} {array.name}{sizes}"
    return Parameter(array.name, text, "array", array.name, by_address=not array.extents and not indirect)


def _own(source: ScopSource, program: Program) -> Iterator[Parameter]:
    """Yield the parameters of the original function, except those of `main`."""
    if source.function == "main":
        return
    arrays = {array.name: array for array in program.arrays}
    for name, declaration in zip(source.argument_names, source.argument_decls, strict=True):
        variable = next((v for v in source.variables if v.name == name), None)
        members = [v for v in source.variables if v.field is not None and v.field.base.lstrip("*") == name]
        if members:
            yield from _members(members, arrays, program)
        elif variable is None:
            yield _unmentioned(name, declaration, source, program)
        else:
            yield _mentioned(variable, declaration, arrays.get(name), program)


def _members(members: Sequence[Variable], arrays: Mapping[str, Array], program: Program) -> Iterator[Parameter]:
    """Yield the members of a structure that a parameter is or points to: sizes, scalars and arrays."""
    sizes = dict(program.parameters)
    for variable in members:
        name, array = variable.name, arrays.get(variable.name)
        if name in sizes:
            yield Parameter(name, f"{variable.type} {name}", "size", name, sizes[name])
        elif array is not None and array.by_value:
            yield Parameter(name, f"{array.type} {name}", "scalar", name)
        elif array is not None and array.role != "temp":
            yield _memory(array, False, "")


def _mentioned(variable: Variable, declaration: str, array: Array | None, program: Program) -> Parameter:
    name, sizes = variable.name, dict(program.parameters)
    const = "const " if "const" in declaration.split() else ""
    if array is not None and array.role != "temp" and not array.by_value:
        return _memory(array, variable.indirect, const)
    if variable.extents or variable.indirect:
        value = f"*{name}" if variable.indirect and not variable.extents else name
        role: Role = "scalar" if array and array.by_value else "unused"
        return Parameter(name, f"{const}{variable.type} *{name}", role, value)
    text = f"{variable.type} {name}"
    if array is not None and array.by_value:
        return Parameter(name, text, "scalar", name)
    return Parameter(name, text, "size", name, sizes[name]) if name in sizes else Parameter(name, text, "unused", name)


def _unmentioned(name: str, declaration: str, source: ScopSource, program: Program) -> Parameter:
    """Return a parameter that the SCoP does not use. It may still be the extent of an array that the SCoP uses."""
    if not _PLAIN.fullmatch(declaration):
        return Parameter(name, f"void *{name}", "unused", name)
    extents = {array.name: array.own_extents for array in program.arrays if array.role != "temp"}
    told = [extent for v in source.variables for text, extent in zip(v.extents, extents.get(v.name, ()), strict=False)
            if text == name]
    return Parameter(name, declaration, "size", name, told[0]) if told else Parameter(name, declaration, "unused", name)


def _added(source: ScopSource, program: Program) -> Iterator[Parameter]:
    """Yield what the SCoP uses besides the function's parameters: scalars, then arrays."""
    own = () if source.function == "main" else source.argument_names
    given = {*own, *(v.name for v in source.variables if v.field is not None and v.field.base.lstrip("*") in own)}
    outside = [a for a in program.passed if a.name not in given]
    yield from (Parameter(a.name, f"{a.c_type} {a.name}", "scalar", a.name) for a in outside if a.by_value)
    yield from (_memory(array, False, "") for array in outside if not array.by_value)


def _sequential(source: ScopSource, program: Program, parameters: tuple[Parameter, ...]) -> Iterator[str]:
    """Yield the SCoP as lines of a function body. Raises InputError if a declaration is unknown."""
    given = {parameter.name: parameter for parameter in parameters}
    changed = [parameter.name for parameter in parameters if parameter.by_address]
    outside = {v.name: "" if v.name in given else _declared(v, source, program) for v in source.variables}
    outside |= {name: f"{program.array(name).type} {name} = *antune_{name}" for name in changed}
    yield from scop_lines(source, outside)
    yield from (f"*antune_{name} = {name};" for name in changed)


def _declared(variable: Variable, source: ScopSource, program: Program) -> str:
    """Return the declaration of a variable that is not a parameter: a size, or one whose contents are not needed."""
    name, values = variable.name, dict(program.parameters)
    if not variable.extents and not variable.indirect:
        return f"{variable.type} {name}" + (f" = {values[name]}" if name in values else "")
    extents = constant_extents(variable, values)
    if extents is None:
        # the model's arrays may be smaller (`pipelines.trimming`), or have copies per iteration
        rooms = {a.name: a.own_elements for a in program.arrays if a.name == name and not a.expanded}
        needed = needed_extents(source, values, rooms).get(name, ())
        if not needed or not all(needed):
            raise InputError(f"how large `{name}` is, is not known")
        extents = tuple(map(str, needed))
    sizes = "".join(f"[{extent}]" for extent in extents)
    if not variable.indirect:
        return f"static {variable.type} {name}{sizes}"
    memory = f"antune_{name}"
    return f"static {variable.type} {memory}{sizes}; {variable.type} (*{name}){sizes} = &{memory}"

"""C expressions for a variable of a SCoP in the program: its first element, its address, its extents.

    float p[N][3]                       ->  element (p)[0][0], address (p)
    struct {int k; float x[3];} p[N]    ->  element (p)[0].x[0], pieces of sizeof((p)[0].x) every sizeof((p)[0])
                                            (a member .x of structures)
"""

from __future__ import annotations

from generator.frontend_c.source import Variable


def element_of(variable: Variable) -> str:
    """Return an lvalue of the variable's element type: `(A)[0][0]`, `alpha`, `(*p)`."""
    if variable.components:
        return f"(*({variable.type} *)&{_structure_of(variable)})"
    if (field := variable.field) is not None:
        return f"{start_of(variable)}{field.path}" + "[0]" * field.inner
    return start_of(variable)


def start_of(variable: Variable) -> str:
    """Return an lvalue of the first element, or of the structure that contains it: the target of a pointer to it."""
    if (field := variable.field) is not None:
        return f"({field.base})" + "[0]" * (len(variable.extents) - field.inner)
    if variable.components:
        return _structure_of(variable)
    return (f"(*{variable.name})" if variable.indirect else f"({variable.name})") + "[0]" * len(variable.extents)


def pieces(variable: Variable) -> tuple[str, str]:
    """Return the distance and the size of the pieces of an array in bytes, as C expressions; 0 if it is contiguous."""
    field = variable.field
    if field is None or len(variable.extents) == field.inner:
        return "0", "0"
    return f"sizeof({start_of(variable)})", f"sizeof({start_of(variable)}{field.path})"


def address_of(variable: Variable) -> str:
    """Return the address of an array's first element, as a C expression."""
    if variable.field is not None:
        return f"(const void *)&{element_of(variable)}"
    if variable.components:
        return f"(const void *)&{_structure_of(variable)}"
    return f"(const void *)(*{variable.name})" if variable.indirect else f"(const void *)({variable.name})"


def element_bytes(variable: Variable) -> str:
    """Return the size of an element as a C expression; that of a structure if it has more than its numbers."""
    if variable.components:
        whole, number = f"sizeof({_structure_of(variable)})", f"sizeof({element_of(variable)})"
        return f"({whole} == {variable.components} * {number} ? {number} : {whole})"
    return f"sizeof({element_of(variable)})"


def _structure_of(variable: Variable) -> str:
    """Return an lvalue of a structure variable, or of the first element of an array of structures."""
    return f"({variable.name})" + "[0]" * (len(variable.extents) - 1)


def is_real(variable: Variable) -> bool:
    """Return whether its elements are floating-point numbers."""
    return variable.type in ("float", "double")


def extent_list(variable: Variable, first: int | None) -> str:
    """Return a C expression of type `const long long *` with the extents; `first` replaces an unknown one."""
    texts = [str(first or 0) if text is None else f"(long long)({text})" for text in variable.extents]
    return f"(const long long[]){{{', '.join(texts or ['1'])}}}"

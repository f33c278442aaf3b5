"""The text of a CUDA or HIP kernel of the user's own, beside host code in one file."""

from __future__ import annotations

from dataclasses import replace

from generator.templates.template import Template
from generator.variant import Constant, KernelText, Launch, Variant

OWN = "antune_{}"


def apart(template: Template, variant: Variant) -> Variant:
    """`variant` with other names for its kernel and its constant memory, whose own names the host function has; the
    macros of the text end with it.

    Nothing is replaced in the text: the names are macros, as the parameters are.
    """
    (kernel,), (launch,) = variant.kernels, variant.host
    assert isinstance(launch, Launch), "a template is one launch"
    name = OWN.format(kernel.name)
    renamed = "".join(f"#define {symbol} {OWN.format(symbol)}\n" for symbol in template.constants)
    defined = (*template.constants, *(key for key, _ in template.defines), *(one.name for one in template.parameters),
               template.kernel)
    text = KernelText(renamed + kernel.text.before, kernel.text.after + "".join(f"#undef {one}\n" for one in defined))
    placements = tuple(Constant(p.array, OWN.format(p.symbol)) if isinstance(p, Constant) else p
                       for p in kernel.placements)
    return replace(variant, kernels=(replace(kernel, name=name, text=text, placements=placements),),
                   host=(replace(launch, kernel=name),))

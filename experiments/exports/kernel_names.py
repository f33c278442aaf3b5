"""The text of a CUDA or HIP kernel of the user's own, beside host code in one file."""

from __future__ import annotations

from dataclasses import replace

from generator.templates.template import Template
from generator.variant import KernelText, Launch, Variant

OWN = "antune_{}"


def apart(template: Template, variant: Variant) -> Variant:
    """`variant` with another name for its kernel, whose own the host function has; the macros of the text end with it.

    Nothing is replaced in the text: the name is a macro, as the parameters are.
    """
    (kernel,), (launch,) = variant.kernels, variant.host
    assert isinstance(launch, Launch), "a template is one launch"
    name = OWN.format(kernel.name)
    defined = (*(key for key, _ in template.defines), *(one.name for one in template.parameters),
               template.kernel)
    text = KernelText(kernel.text.before, kernel.text.after + "".join(f"#undef {one}\n" for one in defined))
    return replace(variant, kernels=(replace(kernel, name=name, text=text),), host=(replace(launch, kernel=name),))

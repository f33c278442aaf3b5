"""Put the text of a user's CUDA or HIP kernel into one file with host code."""

from __future__ import annotations

from dataclasses import replace

from generator.templates.template import Template
from generator.variant import KernelText, Launch, Variant

OWN = "antune_{}"


def apart(template: Template, variant: Variant) -> Variant:
    """Return `variant` with its kernel renamed, because the host function has the kernel's name.

    The text itself is not changed: the new name is a macro, as the parameters are, and all macros end with the text.
    """
    (kernel,), (launch,) = variant.kernels, variant.host
    assert isinstance(launch, Launch), "a template is one launch"
    name = OWN.format(kernel.name)
    defined = (*(key for key, _ in template.defines), *(one.name for one in template.parameters),
               template.kernel)
    text = KernelText(kernel.text.before, kernel.text.after + "".join(f"#undef {one}\n" for one in defined))
    return replace(variant, kernels=(replace(kernel, name=name, text=text),), host=(replace(launch, kernel=name),))

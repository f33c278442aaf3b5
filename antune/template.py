"""The functions for kernel templates: `from antune.template import array, constant, output, template, texture`
(docs/templates.md).
"""

from generator.templates.building import Argument, Tunable, array, constant, output, template, texture

__all__ = ["Argument", "Tunable", "array", "constant", "output", "template", "texture"]

"""The image pipelines in `pipelines/`, with their sizes. Each is a file like a user's own, with a function `build`.

The full sizes are those of Halide's own programs and papers; small ones are for tests. Only nl_means is smaller: it has
49 shifts of its image and compares 7x7 elements for each. At Halide's 1536x2560, the plan that stores every stage needs
5.2 GiB, mostly for the four stages of all shifts, and the plan that inlines all stages computes 49 * 49 differences per
element, for 15 times as many elements as at 512x512: too much for the CPUs that we tune for. The files are programs and
not part of this package: they import `antune.halide` and helper modules next to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, assert_never, get_args

from generator.errors import InputError
from generator.frontend_py.named_sizes import SIZES as EXTENTS

SizeName: TypeAlias = Literal["small", "medium", "full"]
SIZES: tuple[SizeName, ...] = get_args(SizeName)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A program of the suite: `size` as for --size, `small` for tests; `parameters` of `build` for the small size.

    At the `medium` size, with `medium_parameters`, reading and sequential C together take a few seconds at most.
    """

    name: str
    size: str
    small: str
    parameters: tuple[tuple[str, int], ...] = ()
    medium: str = "1024x768"
    medium_parameters: tuple[tuple[str, int], ...] = ()

    @property
    def file(self) -> Path:
        """The program's file."""
        return Path(__file__).parent / "pipelines" / f"{self.name}.py"

    def parameters_at(self, size: SizeName) -> tuple[tuple[str, int], ...]:
        """Return the extents of the output and the parameters of `build`, in the form of --size and --param."""
        match size:
            case "small":
                return _extents(self.small) + self.parameters
            case "medium":
                return _extents(self.medium) + self.medium_parameters
            case "full":
                return _extents(self.size)
            case _:
                assert_never(size)


def _extents(text: str) -> tuple[tuple[str, int], ...]:
    return tuple(zip(EXTENTS, map(int, text.split("x")), strict=False))


PIPELINES = (
    Pipeline("blur", "1536x2560", "40x24"),
    Pipeline("unsharp", "1536x2560", "36x20"),
    Pipeline("harris", "1536x2560", "36x20"),
    Pipeline("max_filter", "1536x2560", "32x20", (("radius", 3),), "512x384"),
    Pipeline("histogram_equalize", "1536x2560", "48x20"),
    Pipeline("stencil_chain", "1536x2560", "32x20", (("stages", 4),), "512x384"),
    Pipeline("matmul", "1024x1024", "24x20", (("depth", 28),), "512x512", (("depth", 512),)),
    Pipeline("conv_layer", "128x100x80x5", "8x12x10x2", (("inputs", 6),), "64x32x32x2", (("inputs", 64),)),
    Pipeline("depthwise_conv", "16x112x112x4", "5x12x10x2", (("inputs", 6),), "16x56x56x2"),
    Pipeline("iir_blur", "1536x2560", "32x20"),
    Pipeline("bilateral_grid", "1536x2560", "48x32"),
    Pipeline("bilateral_upsample", "1536x2560", "48x40",
             (("width", 12), ("height", 10), ("factor", 4), ("spatial", 4), ("bins", 4)),
             "1024x768", (("width", 128), ("height", 96))),
    Pipeline("local_laplacian", "1536x2560", "40x32", (("levels", 3), ("intensities", 4)), "384x256"),
    Pipeline("interpolate", "1536x2560", "48x40", (("levels", 5),), "512x384"),
    Pipeline("pyramid_blend", "2048x2048", "40x32", (("levels", 3),), "512x512"),
    Pipeline("camera_pipe", "2560x1920", "32x24", medium="640x480"),
    Pipeline("lens_blur", "192x320", "24x20", (("slices", 8), ("focus", 3), ("samples", 5), ("levels", 3)), "192x160"),
    Pipeline("nl_means", "512x512", "24x16", (("patch", 3), ("search", 3)), "384x256"),
)
"""In the order of increasing language features."""


def pipeline(name: str) -> Pipeline:
    """Return the program called `name`. Raises InputError if there is none."""
    found = {one.name: one for one in PIPELINES}
    if name not in found:
        raise InputError(f"no pipeline is called {name!r}; there are: {', '.join(found)}")
    return found[name]

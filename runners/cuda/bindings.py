"""The choice of the binding of CUDA's driver API: pycuda if it works, else cuda-python."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from runners.gpu.api import Api, NoDriver

REMEDY = 'install one with `pip install -e ".[cuda]"` (cuda-python with NVRTC) or `pip install pycuda`'


def _with_pycuda() -> Api:
    from runners.cuda.with_pycuda import PyCuda

    return PyCuda()


def _with_cuda_python() -> Api:
    from runners.cuda.with_cuda_python import CudaPython

    return CudaPython()


BINDINGS: tuple[tuple[str, Callable[[], Api]], ...] = (
    ("pycuda.driver", _with_pycuda), ("cuda.bindings.driver", _with_cuda_python))


def installed() -> tuple[str, ...]:
    """Return the modules of the bindings that can be imported, in order of preference."""
    return tuple(module for module, _ in BINDINGS if _missing(module) is None)


def open_api(foreign_streams: bool = False) -> Api:
    """Return the first binding that can be imported and finds a driver.

    With `foreign_streams`, the one that accepts streams of other libraries is tried first.

    Raises:
        NoDriver: none works; the message says why, and what to do.
    """
    reasons = []
    for module, make in reversed(BINDINGS) if foreign_streams else BINDINGS:
        if (reason := _missing(module)) is None:
            try:
                return make()
            except NoDriver as error:
                reason = f"{module.split('.')[0]}: {error}"
        reasons.append(reason)
    if not installed():
        raise NoDriver(f"no binding of CUDA is installed ({'; '.join(reasons)}); {REMEDY}")
    raise NoDriver(f"{'; '.join(reasons)}; install NVIDIA's driver (`nvidia-smi` shows whether it works)")


def _missing(module: str) -> str | None:
    """Return why a module cannot be imported; None if it can."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        return f"no module {error.name}"
    except ImportError as error:  # e.g. pycuda was built for another CUDA version, or libcuda is missing
        return f"{module} cannot be loaded: {error}"
    return None

"""Tuned functions: what they take, and that their results are right on numpy, pyopencl and GPU arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from generator.errors import InputError
from runners.base import DeviceInfo
from runners.calls import ArgumentError, Code, code_folder, contract_of
from runners.function import TunedFunction
from runners.gpu.given import check_address, given, handle_of, is_given
from tests.support.calling import ByDlpack, OnGpu, ran_calls
from tests.support.cuda_double import UNUSABLE, pretended, probing_for_host
from tests.support.runners import GOOD, lower_by_hand, needed_device, plan, scale_program
from tests.support.streams import LATE
from tests.support.suite import TARGET


class Recorder:
    """A Caller for `B = a * A` that computes on the host, also for what says that it lies on the device."""

    def __init__(self) -> None:
        self.queues: list[Any] = []

    def takes(self, value: object) -> bool:
        return isinstance(value, OnGpu)

    def prepare(self, queue: Any) -> None:
        self.queues.append(queue)

    def check(self, values: Sequence[Any], queue: Any) -> None:
        self.queues.append(queue)

    def on_host(self, arrays: Mapping[str, NDArray[Any]], scalars: Sequence[Any], queue: Any) -> None:
        self.queues.append(queue)
        arrays["B"][...] = scalars[0] * arrays["A"]

    def on_device(self, values: Sequence[Any], scalars: Sequence[Any], queue: Any, inplace: bool) -> list[Any]:
        self.queues.append(queue)
        return list(values)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def scale(recorder: Recorder, reason: str = "", made: Sequence[str] = ("B",)) -> TunedFunction:
    """`f(a, A, *, B=None)` on eight elements; H is taken and not used."""
    program = scale_program(64)
    variant = lower_by_hand(program, plan(GOOD), TARGET)
    contract = contract_of(program, "f", ("a", "A", "H", "B"), (("n", 64),), made)
    code = Code(program, variant, contract, DeviceInfo("opencl/x/y", "Y", "X", "1", TARGET))
    return TunedFunction(code, lambda: recorder, "a test", reason)


A, H = np.linspace(1, 2, 64, dtype=np.float32), np.zeros(1, np.int32)


def test_a_result_is_made_or_given(recorder: Recorder) -> None:
    f = scale(recorder)
    assert np.array_equal(f(2.0, A, H), 2 * A) and np.array_equal(f(a=2.0, A=A, H=H, n=64), 2 * A)
    place = np.zeros(64, np.float32)
    assert f(2.0, A, H, B=place) is place and np.array_equal(place, 2 * A)
    f(2.0, A, H, stream=7)
    f(2.0, A, H, queue=8)
    assert recorder.queues == [None, None, None, 7, 8]


def test_what_is_changed_is_copied_unless_in_place(recorder: Recorder) -> None:
    f, there = scale(recorder, made=()), np.zeros(64, np.float32)
    assert np.array_equal(f(2.0, A, H, there), 2 * A) and not there.any()
    assert f(2.0, A, H, there, inplace=True) is there and np.array_equal(there, 2 * A)


def test_what_stays_may_be_read_only(recorder: Recorder) -> None:
    f, there = scale(recorder, made=()), np.zeros(64, np.float32)
    there.flags.writeable = False
    assert np.array_equal(f(2.0, A, H, there), 2 * A)
    with pytest.raises(ArgumentError, match="not one that cannot be written: it takes a result"):
        f(2.0, A, H, there, inplace=True)


def test_names_that_python_keeps_for_something_else_get_a_line_at_their_end() -> None:
    program = scale_program(64)
    words = {"a": "lambda", "A": "queue", "H": "lambda_", "B": "self"}
    renamed = replace(program, arrays=tuple(replace(one, name=words.get(one.name, one.name)) for one in program.arrays))
    found = contract_of(renamed, "in", tuple(words.values()), (("for", 64),), ("self",))
    assert [p.name for p in found.parameters] == ["lambda__", "queue_", "lambda_", "self"]
    assert [p.array.name for p in found.parameters] == list(words.values())
    assert (found.name, found.sizes, found.results) == ("in_", (("for_", 64),), ("self",))
    device = DeviceInfo("opencl/x/y", "Y", "X", "1", TARGET)
    code = Code(renamed, lower_by_hand(program, plan(GOOD), TARGET), found, device)
    assert [code.place(name) for name in words.values()] == [0, 1, 2, 3]

    class Doubling(Recorder):
        def on_host(self, arrays: Mapping[str, NDArray[Any]], scalars: Sequence[Any], queue: Any) -> None:
            arrays["self"][...] = scalars[0] * arrays["queue_"]

    f, there = TunedFunction(code, Doubling, "a test"), np.zeros(64, np.float32)
    assert str(f) == "in_(lambda__, queue_, lambda_, *, self=None, for_=64, queue=None, stream=None, inplace=False)"
    assert f(lambda__=2.0, queue_=A, lambda_=H, self=there, for_=64) is there and np.array_equal(there, 2 * A)


def test_code_is_kept_where_nobody_else_can_write(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    assert code_folder(tmp_path) == folder and folder.stat().st_mode & 0o777 == 0o700
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(InputError, match="is not a folder of yours"):
        code_folder(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made: Not a directory; set XDG_CACHE_HOME"):
        code_folder(tmp_path / "file")


def test_help_and_signature_say_what_it_takes(recorder: Recorder) -> None:
    f = scale(recorder)
    assert str(f) == "f(a, A, H, *, B=None, n=64, queue=None, stream=None, inplace=False)"
    assert "A: an array of float32 with shape (64,), only read" in (f.__doc__ or "") and "Y (X)" in repr(f)
    assert "B: an array of float32 with shape (64,), written completely" in (f.__doc__ or "")


@pytest.mark.parametrize(("given", "named", "words"), [
    ((2.0, A), {}, "H missing"), ((2.0, None, H), {}, "A missing"),
    ((2.0, A, H, A), {}, "takes 3 arguments by position, not 4"),
    ((2.0, A, H), {"n": 65}, "n is 65, but the code was tuned for 64"), ((2.0, A, H), {"x": 1}, "no argument 'x'"),
    ((2.0, A, H), {"A": A}, "A is given twice"), (("x", A, H), {}, "a must be a float32, not 'x'"),
    ((2.0, A.astype(np.float64), H), {}, r"A must be an array of float32 with shape \(64,\), not one of float64"),
    ((2.0, A[:3], H), {}, r"not one of float32 with shape \(3,\): types and sizes are built in"),
    ((2.0, [1.0], H), {}, "not a list"), ((2.0, OnGpu(A, 64, {}), H), {}, "A lies on the device and H does not"),
    ((2.0, np.ma.masked_array(A), H), {}, "A must be .* not one with a mask"),
    ((2.0, A, H), {"B": np.broadcast_to(np.float32(0), (64,))}, "B must be .* not one that cannot be written")])
def test_what_does_not_fit_is_one_error(recorder: Recorder, given: tuple[Any, ...], named: dict[str, Any],
                                        words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        scale(recorder)(*given, **named)
    assert recorder.queues == []


def test_without_an_order_all_arguments_come_by_name(recorder: Recorder) -> None:
    f = scale(recorder, "Nobody knows")
    with pytest.raises(ArgumentError, match=r"give all arguments by name\. Nobody knows"):
        f(2.0, A, H)
    assert np.array_equal(f(a=2.0, A=A, H=H), 2 * A)


def test_arrays_of_other_libraries_are_addresses(recorder: Recorder) -> None:
    parameter = scale(recorder).contract.parameters[1]
    shown = OnGpu(A, 4096, {"stream": 3})
    assert is_given(shown, "cuda") and is_given(ByDlpack(shown), "cuda") and not is_given(ByDlpack(shown), "hip")
    assert not is_given(A, "cuda")
    assert (given(parameter, shown, 1).address, given(parameter, shown, 1).stream) == (4096, 3)
    assert given(parameter, ByDlpack(shown), 1).address == 4096
    for more in ({"strides": (8,)}, {"mask": A}, {"data": (4096, True)}):
        wanted = scale(recorder).contract.parameters[3]
        with pytest.raises(ArgumentError, match="B must be"):
            given(wanted, OnGpu(A, 4096, more), 1)


def test_arrays_that_are_accessed_in_vectors_begin_at_a_multiple(recorder: Recorder) -> None:
    parameter = scale(recorder).contract.parameters[1]
    check_address(parameter, 4096, 16)
    check_address(parameter, 4100, 1)
    with pytest.raises(ArgumentError, match=r"^A must be .*, not one that begins 4 bytes behind a multiple of 16: "
                                            r"kernels access it in vectors; give a copy of this part of an array$"):
        check_address(parameter, 4100, 16)


def test_streams_of_other_libraries_are_handles() -> None:
    class Shown:
        def __init__(self, **members: object) -> None:
            self.__dict__.update(members)

    streams = [5, Shown(ptr=5), Shown(cuda_stream=5), Shown(__cuda_stream__=lambda: (0, 5)),
               Shown(handle=Shown(value=5))]
    assert [handle_of(stream) for stream in streams] == [5] * 5
    with pytest.raises(ArgumentError, match="stream must be an int or a stream of CuPy"):
        handle_of("5")


@pytest.mark.slow
@pytest.mark.parametrize(("check", "all_cases"), [("opencl", True), ("numpy", True), ("threads", False)])
def test_calls_on_a_cpu(check: str, all_cases: bool, tmp_path: Path) -> None:
    needed_device("PoCL")
    done = ran_calls(check, "pocl", tmp_path, all_cases)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize(("check", "all_cases"), [("gpu", True), ("numpy", True), ("streams", True)])
def test_calls_on_a_gpu(check: str, all_cases: bool, late: str, tmp_path: Path,
                        monkeypatch: pytest.MonkeyPatch) -> None:
    """On a driver that does all as late as it may, in two orders."""
    monkeypatch.setenv("CUDA_DOUBLE_LATE", late)
    (tmp_path / "driver").mkdir()
    with pretended(tmp_path / "driver") as driver:
        hooks = probing_for_host(driver / "hooks")
        done = ran_calls(check, "cuda", tmp_path, all_cases, LD_LIBRARY_PATH=str(driver), **hooks)
        assert done.returncode == 0, done.stderr
        codes = sorted((tmp_path / "cache" / "antune" / "kernels").iterdir())
        assert codes and (tmp_path / "cache" / "antune" / "kernels").stat().st_mode & 0o077 == 0
        written = [code.stat().st_mtime_ns for code in codes]
        if all_cases:
            assert ran_calls(check, "cuda", tmp_path, True, LD_LIBRARY_PATH=str(driver), **hooks).returncode == 0
        assert [code.stat().st_mtime_ns for code in codes] == written, "the next process finds them"


@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
def test_calls_leave_the_current_context_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "driver").mkdir()
    with pretended(tmp_path / "driver") as driver:
        hooks = probing_for_host(driver / "hooks")
        done = ran_calls("contexts", "cuda", tmp_path, False, LD_LIBRARY_PATH=str(driver), CUDA_DOUBLE_DEVICES="2",
                         **hooks)
    assert done.returncode == 0, done.stderr

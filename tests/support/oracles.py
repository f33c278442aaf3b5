"""The expected results of the PolyBench programs, computed independently in numpy: linear algebra, stencils,
recurrences.

Each function takes the values at the entry of the SCoP and returns everything that it writes. If there is a formula it
is used (a factorisation, a solve, an einsum), so that the loops of the sources are not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Data: TypeAlias = Mapping[str, NDArray[Any]]
Result: TypeAlias = dict[str, Any]
STEPS = 7  # of all stencils


def gemm(d: Data) -> Result:
    return {"C": d["beta"] * d["C"] + d["alpha"] * d["A"] @ d["B"]}


def mm2(d: Data) -> Result:
    tmp = d["alpha"] * d["A"] @ d["B"]
    return {"tmp": tmp, "D": d["beta"] * d["D"] + tmp @ d["C"]}


def mm3(d: Data) -> Result:
    e, f = d["A"] @ d["B"], d["C"] @ d["D"]
    return {"E": e, "F": f, "G": e @ f}


def atax(d: Data) -> Result:
    tmp = d["A"] @ d["x"]
    return {"tmp": tmp, "y": d["A"].T @ tmp}


def bicg(d: Data) -> Result:
    return {"s": d["A"].T @ d["r"], "q": d["A"] @ d["p"]}


def mvt(d: Data) -> Result:
    return {"x1": d["x1"] + d["A"] @ d["y_1"], "x2": d["x2"] + d["A"].T @ d["y_2"]}


def gesummv(d: Data) -> Result:
    tmp = d["A"] @ d["x"]
    return {"tmp": tmp, "y": d["alpha"] * tmp + d["beta"] * (d["B"] @ d["x"])}


def gemver(d: Data) -> Result:
    a = d["A"] + np.outer(d["u1"], d["v1"]) + np.outer(d["u2"], d["v2"])
    x = d["x"] + d["beta"] * a.T @ d["y"] + d["z"]
    return {"A": a, "x": x, "w": d["w"] + d["alpha"] * a @ x}


def doitgen(d: Data) -> Result:
    a = np.einsum("rqs,sp->rqp", d["A"], d["C4"])
    return {"A": a, "sum": a[-1, -1]}


def _lower(new: NDArray[Any], old: NDArray[Any]) -> NDArray[Any]:
    """Return the lower triangle of `new`, with the rest of `old`."""
    merged: NDArray[Any] = np.tril(new) + np.triu(old, 1)
    return merged


def syrk(d: Data) -> Result:
    return {"C": _lower(d["beta"] * d["C"] + d["alpha"] * d["A"] @ d["A"].T, d["C"])}


def syr2k(d: Data) -> Result:
    product = d["A"] @ d["B"].T
    return {"C": _lower(d["beta"] * d["C"] + d["alpha"] * (product + product.T), d["C"])}


def symm(d: Data) -> Result:
    full = np.tril(d["A"]) + np.tril(d["A"], -1).T
    return {"C": d["beta"] * d["C"] + d["alpha"] * full @ d["B"], "temp2": d["A"][-1, :-1] @ d["B"][:-1, -1]}


def trmm(d: Data) -> Result:
    unit = np.tril(d["A"], -1) + np.eye(len(d["A"]))
    return {"B": d["alpha"] * unit.T @ d["B"]}


def covariance(d: Data) -> Result:
    mean = d["data"].mean(axis=0)
    return {"mean": mean, "data": d["data"] - mean, "cov": np.cov(d["data"], rowvar=False)}


def correlation(d: Data) -> Result:
    mean, stddev = d["data"].mean(axis=0), d["data"].std(axis=0)
    stddev = np.where(stddev <= d["eps"], 1, stddev)
    reduced = (d["data"] - mean) / (np.sqrt(len(d["data"])) * stddev)
    corr = reduced.T @ reduced
    np.fill_diagonal(corr, 1)
    return {"mean": mean, "stddev": stddev, "data": reduced, "corr": corr}


def cholesky(d: Data) -> Result:
    return {"A": _lower(np.linalg.cholesky(d["A"]), d["A"])}


def _factors(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return L and U in one matrix, by rank-one updates of the remaining matrix."""
    a = matrix.astype(np.float64)
    for k in range(len(a)):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a


def lu(d: Data) -> Result:
    return {"A": _factors(d["A"])}


def ludcmp(d: Data) -> Result:
    factors, x = _factors(d["A"]), np.linalg.solve(d["A"], d["b"])
    y = np.triu(factors) @ x
    return {"A": factors, "x": x, "y": y, "w": y[0] - factors[0, 1:] @ x[1:]}


def trisolv(d: Data) -> Result:
    return {"x": np.linalg.solve(np.tril(d["L"]), d["b"])}


def durbin(d: Data) -> Result:
    from scipy.linalg import toeplitz

    r = d["r"].astype(np.float64)

    def solution(n: int) -> NDArray[Any]:
        return np.asarray(np.linalg.solve(toeplitz(np.concatenate(([1], r[:n - 1]))), -r[:n]))

    y, before = solution(len(r)), solution(len(r) - 1)
    return {"y": y, "z": np.concatenate((y[:-1], d["z"][-1:])), "alpha": y[-1], "beta": 1 + r[:-1] @ before,
            "sum": r[:-1][::-1] @ before}


def gramschmidt(d: Data) -> Result:
    q, r = np.linalg.qr(d["A"])
    sign = np.sign(np.diag(r))
    q, r = q * sign, r * sign[:, None]
    return {"Q": q, "R": r, "A": q * np.diag(r), "nrm": r[-1, -1] ** 2}


def deriche(d: Data) -> Result:
    """R. Deriche, "Using Canny's criteria to derive a recursively implemented optimal edge detector", 1987."""
    from scipy.signal import lfilter  # takes two seconds

    alpha, image = float(d["alpha"]), d["imgIn"].astype(np.float64)
    decay = np.exp(-alpha)
    k = (1 - decay) ** 2 / (1 + 2 * alpha * decay - np.exp(2 * alpha))
    a2, a3, a4 = k * decay * (alpha - 1), k * decay * (alpha + 1), -k * decay**2
    poles = [1, -(2**-alpha), decay**2]

    def both(x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        return lfilter([k, a2], poles, x), lfilter([0, a3, a4], poles, x[:, ::-1])[:, ::-1]

    middle = sum(both(image), np.zeros(()))
    y1, y2 = (y.T for y in both(middle.T))
    return {"imgOut": y1 + y2, "y1": y1, "y2": y2, "k": k, "a1": k, "a5": k, "a2": a2, "a6": a2, "a3": a3, "a7": a3,
            "a4": a4, "a8": a4, "b1": -poles[1], "b2": -poles[2], "c1": 1, "c2": 1,
            "xm1": image[-1, -1], "xp1": image[-1, 0], "xp2": image[-1, 1], "tm1": middle[-1, -1],
            "tp1": middle[0, -1], "tp2": middle[1, -1], "ym1": y1[-1, -1], "ym2": y1[-2, -1],
            "yp1": y2[0, -1], "yp2": y2[1, -1]}


def floyd_warshall(d: Data) -> Result:
    """Combine paths, doubling their number of edges, until none becomes shorter."""
    path, shorter = None, d["path"]
    while path is None or (path != shorter).any():
        path = shorter
        shorter = np.minimum(path, (path[:, :, None] + path[None, :, :]).min(axis=1))
    return {"path": path}


def nussinov(d: Data) -> Result:
    """R. Nussinov et al., "Algorithms for loop matchings", 1978: by the length of the part instead of by rows."""
    bases, table = d["seq"].astype(int), d["table"].copy()
    for length in range(1, len(bases)):
        for i in range(len(bases) - length):
            j = i + length
            pair = int(length > 1 and bases[i] + bases[j] == 3)
            split = table[i, i + 1:j] + table[i + 2:j + 1, j]
            table[i, j] = max(table[i, j], table[i, j - 1], table[i + 1, j], table[i + 1, j - 1] + pair,
                              max(split, default=0))
    return {"table": table}


def _sweep(sub: float, diagonal: float, right: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Thomas algorithm for x[:, j-1] * sub + x[:, j] * diagonal + x[:, j+1] * sub = right with x = 1 at both ends."""
    n = right.shape[1]
    p, q, x = (np.zeros_like(right) for _ in range(3))
    q[:, 0] = x[:, 0] = x[:, -1] = 1
    for j in range(1, n - 1):
        p[:, j] = -sub / (sub * p[:, j - 1] + diagonal)
        q[:, j] = (right[:, j] - sub * q[:, j - 1]) / (sub * p[:, j - 1] + diagonal)
    for j in range(n - 2, 0, -1):
        x[:, j] = p[:, j] * x[:, j + 1] + q[:, j]
    return p[:, :-1], q[:, :-1], x


def adi(d: Data) -> Result:
    n = len(d["u"])
    u, v, p, q = (d[name].astype(np.float64) for name in "uvpq")
    mul1, mul2 = 2 * n * n / STEPS, n * n / STEPS
    a, along = -mul1 / 2, -mul2 / 2
    for _ in range(STEPS):
        right = -along * u[:, :-2] + (1 + 2 * along) * u[:, 1:-1] - along * u[:, 2:]
        p[1:-1, :-1], q[1:-1, :-1], solved = _sweep(a, 1 + mul1, right.T)
        v[:, 1:-1] = solved.T
        right = -a * v[:-2] + (1 + 2 * a) * v[1:-1] - a * v[2:]
        p[1:-1, :-1], q[1:-1, :-1], u[1:-1] = _sweep(along, 1 + mul2, right)
    return {"u": u, "v": v, "p": p, "q": q, "DX": 1 / n, "DY": 1 / n, "DT": 1 / STEPS, "B1": 2, "B2": 1, "mul1": mul1,
            "mul2": mul2, "a": a, "b": 1 + mul1, "c": a, "d": along, "e": 1 + mul2, "f": along}


def fdtd_2d(d: Data) -> Result:
    ex, ey, hz = (d[name].copy() for name in ("ex", "ey", "hz"))
    for source in d["_fict_"]:
        ey[0] = source
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


def _alternate(d: Data, update: Callable[[NDArray[Any]], NDArray[Any]]) -> Result:
    """Update A to B and back: `update` returns the new inner elements."""
    a, b = d["A"].copy(), d["B"].copy()
    inner = (slice(1, -1),) * a.ndim
    for _ in range(STEPS):
        b[inner] = update(a)
        a[inner] = update(b)
    return {"A": a, "B": b}


def jacobi_1d(d: Data) -> Result:
    return _alternate(d, lambda x: 0.33333 * (x[:-2] + x[1:-1] + x[2:]))


def jacobi_2d(d: Data) -> Result:
    return _alternate(d, lambda x: 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1]))


def heat_3d(d: Data) -> Result:
    def update(x: NDArray[Any]) -> NDArray[Any]:
        inner = x[1:-1, 1:-1, 1:-1]
        second = [np.diff(x, 2, axis=axis) for axis in range(3)]
        return inner + 0.125 * (second[0][:, 1:-1, 1:-1] + second[1][1:-1, :, 1:-1] + second[2][1:-1, 1:-1])

    return _alternate(d, update)


def seidel_2d(d: Data) -> Result:
    """Compute all elements of a wave front 2 i + j at once: they are independent of each other."""
    a = d["A"].copy()
    rows, columns = np.meshgrid(*(np.arange(1, n - 1) for n in a.shape), indexing="ij")
    for _ in range(STEPS):
        for front in range(3, 3 * len(a)):
            i, j = rows[2 * rows + columns == front], columns[2 * rows + columns == front]
            a[i, j] = sum(a[i + di, j + dj] for di in (-1, 0, 1) for dj in (-1, 0, 1)) / a.dtype.type(9)
    return {"A": a}


ORACLES: dict[str, Callable[[Data], Result]] = {
    "2mm": mm2, "3mm": mm3, "adi": adi, "atax": atax, "bicg": bicg, "cholesky": cholesky, "correlation": correlation,
    "covariance": covariance, "deriche": deriche, "doitgen": doitgen, "durbin": durbin, "fdtd-2d": fdtd_2d,
    "floyd-warshall": floyd_warshall, "gemm": gemm, "gemver": gemver, "gesummv": gesummv, "gramschmidt": gramschmidt,
    "heat-3d": heat_3d, "jacobi-1d": jacobi_1d, "jacobi-2d": jacobi_2d, "lu": lu, "ludcmp": ludcmp, "mvt": mvt,
    "nussinov": nussinov, "seidel-2d": seidel_2d, "symm": symm, "syr2k": syr2k, "syrk": syrk, "trisolv": trisolv,
    "trmm": trmm}

"""Fragments of tiles that warps multiply on tensor cores: CUDA's C++ API `nvcuda::wmma` (CUDA C++ Programming Guide,
"Warp Matrix Functions").

    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> parts[2][2];     clear, then fill_fragment
    load_matrix_sync(left[i], ..), load_matrix_sync(right[j], ..), mma_sync(..)           multiply, once per 16 terms
    store_matrix_sync(&sums[..][..], parts[i][j], ..)                                     store

All threads of a warp call the functions of a step together. Addresses are multiples of 32 bytes, rows of 16.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from generator.nest import Fragments, SharedFactor, WarpTile
from generator.precision import DEPTH, SIDE, Precision

ALIGNMENT = 32
"""The alignment of fragments in bytes."""

TO_WORD = {"tf32": "antune_to_tf32", "fp16": "antune_to_fp16", "bf16": "antune_to_bf16"}
"""Functions that round a factor to the nearest number of the precision, as the word that holds it in shared memory."""

_ROUNDED = {
    "tf32": ("float", "nvcuda::wmma::__float_to_tf32(x)"),
    "fp16": ("unsigned short", "__half_as_ushort(__float2half_rn(x))"),
    "bf16": ("unsigned short", "__bfloat16_as_ushort(__float2bfloat16_rn(x))"),
}
_ELEMENT = {"tf32": "nvcuda::wmma::precision::tf32", "fp16": "__half", "bf16": "__nv_bfloat16"}
_POINTER = {"tf32": "", "fp16": "(const __half *)", "bf16": "(const __nv_bfloat16 *)"}
_LEFT, _RIGHT, _ROW, _COLUMN = "antune_left", "antune_right", "antune_row", "antune_column"


def fragment_functions(precisions: Collection[Precision]) -> str:
    """Return the definitions for kernels with fragments of these precisions."""
    functions = [
        f"static __device__ inline {kind} {TO_WORD[precision]}(float x) {{ return {value}; }}\n"
        for precision, (kind, value) in _ROUNDED.items()
        if precision in precisions
    ]
    return "".join(["#include <mma.h>\n", *functions])


def fragment_lines(node: Fragments, warp: str, place: str) -> Iterator[str]:
    """Yield the text of a step. `warp`: the number of the warp, as an operand of any operator. `place`: the subscript
    that selects one of two places of the factors; empty if they have one.
    """
    if node.step == "clear":
        yield from _clear(node.tile, warp)
    elif node.step == "multiply":
        yield from _multiply(node.tile, place)
    else:
        yield from _store(node.tile)


def _clear(tile: WarpTile, warp: str) -> Iterator[str]:
    (_, across), (rows, columns) = tile.warps, tile.each
    whose = f"{tile.count} warp{'s' * (tile.count != 1)}, each with {rows} x {columns} fragments"
    yield f"// {whose} of sums (fp32) of products ({tile.precision})"
    yield f"const int {_ROW} = {warp} / {across} * {rows * SIDE}, {_COLUMN} = {warp} % {across} * {columns * SIDE};"
    yield f"{_fragment('accumulator', tile, 'float')} {tile.parts}[{rows}][{columns}];"
    yield from _over(tile, [f"nvcuda::wmma::fill_fragment({tile.parts}[i][j], 0.0f);"])


def _multiply(tile: WarpTile, where: str) -> Iterator[str]:
    element, step = _ELEMENT[tile.precision], DEPTH[tile.precision]
    yield "#pragma unroll"
    yield f"for (int step = 0; step < {tile.depth}; step += {step}) {{"
    for kind, name, factor, count, turned in (
        ("matrix_a", _LEFT, tile.left, tile.each[0], "col_major"),
        ("matrix_b", _RIGHT, tile.right, tile.each[1], "row_major"),
    ):
        along = turned if factor.turned else {"col_major": "row_major", "row_major": "col_major"}[turned]
        yield f"  {_fragment(kind, tile, f'{element}, nvcuda::wmma::{along}')} {name}[{count}];"
    yield from (f"  {line}" for line in _load(tile, _LEFT, tile.left, tile.each[0], (where, _ROW)))
    yield from (f"  {line}" for line in _load(tile, _RIGHT, tile.right, tile.each[1], (where, _COLUMN)))
    product = f"nvcuda::wmma::mma_sync({tile.parts}[i][j], {_LEFT}[i], {_RIGHT}[j], {tile.parts}[i][j]);"
    yield from (f"  {line}" for line in _over(tile, [product]))
    yield "}"


def _load(tile: WarpTile, name: str, factor: SharedFactor, count: int, at: tuple[str, str]) -> Iterator[str]:
    """Load one fragment of a factor per row (column) of fragments of sums; `at`: the place, and the first row."""
    where, first = at
    place = f"{first} + {SIDE} * i"
    index = f"[step][{place}]" if factor.turned else f"[{place}][step]"
    pointer = f"{_POINTER[tile.precision]}&{factor.name}{where}{index}"
    load = f"nvcuda::wmma::load_matrix_sync({name}[i], {pointer}, {factor.row});"
    yield "#pragma unroll"
    if not tile.raw:
        yield f"for (int i = 0; i < {count}; ++i)"
        yield f"  {load}"
        return
    yield f"for (int i = 0; i < {count}; ++i) {{"
    yield f"  {load}"
    yield "  #pragma unroll"
    yield f"  for (int e = 0; e < {name}[i].num_elements; ++e)"
    yield f"    {name}[i].x[e] = {TO_WORD[tile.precision]}({name}[i].x[e]);"
    yield "}"


def _store(tile: WarpTile) -> Iterator[str]:
    place = f"&{tile.sums}[{_ROW} + {SIDE} * i][{_COLUMN} + {SIDE} * j]"
    yield from _over(tile, [
        f"nvcuda::wmma::store_matrix_sync({place}, {tile.parts}[i][j], {tile.row}, nvcuda::wmma::mem_row_major);"])


def _over(tile: WarpTile, lines: list[str]) -> Iterator[str]:
    """Yield `lines` for each fragment of sums (i, j)."""
    yield "#pragma unroll"
    yield f"for (int i = 0; i < {tile.each[0]}; ++i)"
    yield "  #pragma unroll"
    yield f"  for (int j = 0; j < {tile.each[1]}; ++j)"
    yield from (f"    {line}" for line in lines)


def _fragment(kind: str, tile: WarpTile, rest: str) -> str:
    return f"nvcuda::wmma::fragment<nvcuda::wmma::{kind}, {SIDE}, {SIDE}, {DEPTH[tile.precision]}, {rest}>"

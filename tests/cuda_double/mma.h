// The fragments of CUDA's <mma.h> on the host: what tests/cuda_double/words.hpp does for the rest of the language.
// Each lane holds some elements of a fragment; the functions are for all lanes of a warp, at the same line (otherwise that
// is an error, as is a race with what is loaded and stored). Factors are rounded when they become words; a tf32 has 10 bits
// of fraction, and it is an error to multiply a word with others, which CUDA leaves open. Sums are floats.
// Meanings are from the CUDA C++ Programming Guide ("Warp Matrix Functions").
#pragma once
struct __half { unsigned short bits; };
struct __nv_bfloat16 { unsigned short bits; };
namespace host {
static UNWATCHED unsigned bits_of(float x) { unsigned y; memcpy(&y, &x, sizeof y); return y; }
static UNWATCHED float of_bits(unsigned x) { float y; memcpy(&y, &x, sizeof y); return y; }
static UNWATCHED bool is_rounded(float x) { return isnan(x) || !(bits_of(x) & 0x1fffu); }
static UNWATCHED bool is_rounded(__nv_bfloat16) { return true; }
static UNWATCHED bool is_rounded(__half) { return true; }
static UNWATCHED float value_of(float x) { return x; }
static UNWATCHED float value_of(__nv_bfloat16 x) { return of_bits((unsigned)x.bits << 16); }
static UNWATCHED float value_of(__half x)
{
  const int exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
  const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                                    : exponent ? ldexpf(1024 + fraction, exponent - 25) : ldexpf(fraction, -24);
  return x.bits >> 15 ? -size : size;
}
/* The nearest number with `bits` fewer bits of fraction, of two the even one. */
static UNWATCHED unsigned nearest(unsigned x, int bits) { return (x + (1u << (bits - 1)) - 1 + (x >> bits & 1)) >> bits << bits; }
}  // namespace host
static UNWATCHED __half __float2half_rn(float x)
{
  const unsigned short sign = host::bits_of(x) >> 16 & 0x8000u;
  const float size = fabsf(x);
  if (isnan(x)) return {(unsigned short)(sign | 0x7e00u)};
  if (size >= 65520.0f) return {(unsigned short)(sign | 0x7c00u)};
  if (size < 0x1p-14f) return {(unsigned short)(sign | (unsigned)rintf(size * 0x1p24f))};
  return {(unsigned short)(sign | (host::nearest(host::bits_of(size), 13) - 0x38000000u) >> 13)};
}
static UNWATCHED __nv_bfloat16 __float2bfloat16_rn(float x)
{
  return {(unsigned short)(isnan(x) ? 0x7fffu : host::nearest(host::bits_of(x), 16) >> 16)};
}
static UNWATCHED unsigned short __half_as_ushort(__half x) { return x.bits; }
static UNWATCHED unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }

namespace nvcuda {
namespace wmma {
struct matrix_a; struct matrix_b; struct accumulator; struct row_major; struct col_major;
namespace precision { struct tf32; }
enum layout_t { mem_row_major, mem_col_major };
template <class T> struct Word { typedef T type; };
template <> struct Word<precision::tf32> { typedef float type; };
static UNWATCHED float __float_to_tf32(float x)
{ // cvt.rna: of two, the one that is farther from 0
  return isnan(x) || isinf(x) ? x : host::of_bits((host::bits_of(x) + 0x1000u) & 0xffffe000u);
}

template <class Use, int m, int n, int k, class T, class Layout = void> struct fragment {
  enum { rows = __is_same(Use, matrix_b) ? k : m, columns = __is_same(Use, matrix_a) ? k : n,
         num_elements = rows * columns / host::WARP };
  static_assert(m == 16 && n == 16 && (k == 16 || (k == 8 && __is_same(typename Word<T>::type, float))),
                "fragments are 16 x 16 x 16, of tf32 16 x 16 x 8");
  typename Word<T>::type x[num_elements];
};

/* Which element of a matrix a lane holds as its number t: CUDA leaves that open, here few are those that it copied. */
static UNWATCHED int held(int t)
{
  const int lane = host::current % host::WARP;
  return t * host::WARP + (5 * lane + 7 * t + 3) % host::WARP;
}
/* The lanes of a warp show each other their parts of matrices. */
template <int size> struct Shown { float at[host::MOST / host::WARP][size]; };
template <class T> static UNWATCHED void check_place(int line, const T *place, unsigned row)
{
  if ((uintptr_t)place % 32 || row * sizeof(T) % 16)
    host::complain("%s: a fragment of line %d is not aligned", host::name, line);
}
template <class F> static UNWATCHED void check_rounded(int line, const F &f)
{
  for (auto x : f.x)
    if (!host::is_rounded(x)) host::complain("%s: a factor of line %d is not rounded to tf32", host::name, line);
}
template <class F, class T, class Act> static UNWATCHED void each(F &f, T *place, unsigned row, bool by_rows, host::Kind kind, Act act)
{
  for (int t = 0; t < F::num_elements; ++t) {
    const int e = held(t), i = e / F::columns, j = e % F::columns;
    T *at = place + (by_rows ? i * row + j : j * row + i);
    host::touched((uintptr_t)at, sizeof(T), kind);
    act(f.x[t], *at);
  }
}

template <class Use, int m, int n, int k, class T, class L>
UNWATCHED void fill_fragment(fragment<Use, m, n, k, T, L> &f, float value, int line = __builtin_LINE())
{
  for (auto &x : f.x) x = value;
  host::wait(host::AT_SHUFFLE, line);
}
template <class Use, int m, int n, int k, class T, class L, class W>
UNWATCHED void load_matrix_sync(fragment<Use, m, n, k, T, L> &f, const W *place, unsigned row, int line = __builtin_LINE())
{
  static_assert(__is_same(W, typename Word<T>::type), "the words are those of the fragment");
  check_place(line, place, row);
  each(f, place, row, __is_same(L, row_major), host::READ, [](W &x, const W &at) UNWATCHED { x = at; });
  host::wait(host::AT_SHUFFLE, line);
}
template <int m, int n, int k>
UNWATCHED void store_matrix_sync(float *place, const fragment<accumulator, m, n, k, float> &f, unsigned row, layout_t layout,
                                 int line = __builtin_LINE())
{
  check_place(line, place, row);
  each(f, place, row, layout == mem_row_major, host::WRITE, [](const float &x, float &at) UNWATCHED { at = x; });
  host::wait(host::AT_SHUFFLE, line);
}
template <int m, int n, int k, class T, class A, class B>
UNWATCHED void mma_sync(fragment<accumulator, m, n, k, float> &d, const fragment<matrix_a, m, n, k, T, A> &a,
                        const fragment<matrix_b, m, n, k, T, B> &b, const fragment<accumulator, m, n, k, float> &c,
                        int line = __builtin_LINE())
{
  static Shown<m * k> left;
  static Shown<k * n> right;
  const int warp = host::current / host::WARP;
  check_rounded(line, a);
  check_rounded(line, b);
  for (int t = 0; t < a.num_elements; ++t) left.at[warp][held(t)] = host::value_of(a.x[t]);
  for (int t = 0; t < b.num_elements; ++t) right.at[warp][held(t)] = host::value_of(b.x[t]);
  host::wait(host::AT_SHUFFLE, line);
  for (int t = 0; t < c.num_elements; ++t) {
    const int i = held(t) / n, j = held(t) % n;
    float sum = c.x[t];
    for (int term = 0; term < k; ++term) sum += left.at[warp][i * k + term] * right.at[warp][term * n + j];
    d.x[t] = sum;
  }
  host::wait(host::AT_SHUFFLE, -line);
}
}  // namespace wmma
}  // namespace nvcuda

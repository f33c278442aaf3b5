/* deriche: dataset sizes (PolyBench/C 4.2.1) and element type.

   Choose a class with -DMINI_DATASET ... -DEXTRALARGE_DATASET (LARGE_DATASET if none), or any size with
   -DH=...; the element type is float, or with
   -DDATA_TYPE_IS_DOUBLE double. */
#ifndef PB_DERICHE_H
#define PB_DERICHE_H

#if !defined(MINI_DATASET) && !defined(SMALL_DATASET) && !defined(MEDIUM_DATASET) && \
    !defined(LARGE_DATASET) && !defined(EXTRALARGE_DATASET)
#define LARGE_DATASET
#endif

#if defined(MINI_DATASET)
#define W_OF_CLASS 64
#define H_OF_CLASS 64
#elif defined(SMALL_DATASET)
#define W_OF_CLASS 192
#define H_OF_CLASS 128
#elif defined(MEDIUM_DATASET)
#define W_OF_CLASS 720
#define H_OF_CLASS 480
#elif defined(LARGE_DATASET)
#define W_OF_CLASS 4096
#define H_OF_CLASS 2160
#elif defined(EXTRALARGE_DATASET)
#define W_OF_CLASS 7680
#define H_OF_CLASS 4320
#endif

#ifndef W
#define W W_OF_CLASS
#endif
#ifndef H
#define H H_OF_CLASS
#endif

#define _PB_W POLYBENCH_LOOP_BOUND(W, w)
#define _PB_H POLYBENCH_LOOP_BOUND(H, h)

#ifdef DATA_TYPE_IS_DOUBLE
#define DATA_TYPE double
#define DATA_PRINTF_MODIFIER "%0.2lf "
#define SCALAR_VAL(x) x
#define SQRT_FUN(x) sqrt(x)
#define EXP_FUN(x) exp(x)
#define POW_FUN(x, y) pow(x, y)
#else
#define DATA_TYPE float
#define DATA_PRINTF_MODIFIER "%0.2f "
#define SCALAR_VAL(x) x##f
#define SQRT_FUN(x) sqrtf(x)
#define EXP_FUN(x) expf(x)
#define POW_FUN(x, y) powf(x, y)
#endif

#endif

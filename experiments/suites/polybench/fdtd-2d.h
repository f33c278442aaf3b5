/* fdtd-2d: dataset sizes (PolyBench/C 4.2.1) and element type.

   Choose a class with -DMINI_DATASET ... -DEXTRALARGE_DATASET (LARGE_DATASET if none), or any size with
   -DNY=...; -DDATA_TYPE_IS_FLOAT computes in float. */
#ifndef PB_FDTD_2D_H
#define PB_FDTD_2D_H

#if !defined(MINI_DATASET) && !defined(SMALL_DATASET) && !defined(MEDIUM_DATASET) && \
    !defined(LARGE_DATASET) && !defined(EXTRALARGE_DATASET)
#define LARGE_DATASET
#endif

#if defined(MINI_DATASET)
#define TMAX_OF_CLASS 20
#define NX_OF_CLASS 20
#define NY_OF_CLASS 30
#elif defined(SMALL_DATASET)
#define TMAX_OF_CLASS 40
#define NX_OF_CLASS 60
#define NY_OF_CLASS 80
#elif defined(MEDIUM_DATASET)
#define TMAX_OF_CLASS 100
#define NX_OF_CLASS 200
#define NY_OF_CLASS 240
#elif defined(LARGE_DATASET)
#define TMAX_OF_CLASS 500
#define NX_OF_CLASS 1000
#define NY_OF_CLASS 1200
#elif defined(EXTRALARGE_DATASET)
#define TMAX_OF_CLASS 1000
#define NX_OF_CLASS 2000
#define NY_OF_CLASS 2600
#endif

#ifndef TMAX
#define TMAX TMAX_OF_CLASS
#endif
#ifndef NX
#define NX NX_OF_CLASS
#endif
#ifndef NY
#define NY NY_OF_CLASS
#endif

#define _PB_TMAX POLYBENCH_LOOP_BOUND(TMAX, tmax)
#define _PB_NX POLYBENCH_LOOP_BOUND(NX, nx)
#define _PB_NY POLYBENCH_LOOP_BOUND(NY, ny)

#ifdef DATA_TYPE_IS_FLOAT
#define DATA_TYPE float
#define DATA_PRINTF_MODIFIER "%0.2f "
#define SCALAR_VAL(x) x##f
#define SQRT_FUN(x) sqrtf(x)
#define EXP_FUN(x) expf(x)
#define POW_FUN(x, y) powf(x, y)
#else
#define DATA_TYPE double
#define DATA_PRINTF_MODIFIER "%0.2lf "
#define SCALAR_VAL(x) x
#define SQRT_FUN(x) sqrt(x)
#define EXP_FUN(x) exp(x)
#define POW_FUN(x, y) pow(x, y)
#endif

#endif

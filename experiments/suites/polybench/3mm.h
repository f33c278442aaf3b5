/* 3mm: dataset sizes (PolyBench/C 4.2.1) and element type.

   Choose a class with -DMINI_DATASET ... -DEXTRALARGE_DATASET (LARGE_DATASET if none), or any size with
   -DNM=...; -DDATA_TYPE_IS_FLOAT computes in float. */
#ifndef PB_3MM_H
#define PB_3MM_H

#if !defined(MINI_DATASET) && !defined(SMALL_DATASET) && !defined(MEDIUM_DATASET) && \
    !defined(LARGE_DATASET) && !defined(EXTRALARGE_DATASET)
#define LARGE_DATASET
#endif

#if defined(MINI_DATASET)
#define NI_OF_CLASS 16
#define NJ_OF_CLASS 18
#define NK_OF_CLASS 20
#define NL_OF_CLASS 22
#define NM_OF_CLASS 24
#elif defined(SMALL_DATASET)
#define NI_OF_CLASS 40
#define NJ_OF_CLASS 50
#define NK_OF_CLASS 60
#define NL_OF_CLASS 70
#define NM_OF_CLASS 80
#elif defined(MEDIUM_DATASET)
#define NI_OF_CLASS 180
#define NJ_OF_CLASS 190
#define NK_OF_CLASS 200
#define NL_OF_CLASS 210
#define NM_OF_CLASS 220
#elif defined(LARGE_DATASET)
#define NI_OF_CLASS 800
#define NJ_OF_CLASS 900
#define NK_OF_CLASS 1000
#define NL_OF_CLASS 1100
#define NM_OF_CLASS 1200
#elif defined(EXTRALARGE_DATASET)
#define NI_OF_CLASS 1600
#define NJ_OF_CLASS 1800
#define NK_OF_CLASS 2000
#define NL_OF_CLASS 2200
#define NM_OF_CLASS 2400
#endif

#ifndef NI
#define NI NI_OF_CLASS
#endif
#ifndef NJ
#define NJ NJ_OF_CLASS
#endif
#ifndef NK
#define NK NK_OF_CLASS
#endif
#ifndef NL
#define NL NL_OF_CLASS
#endif
#ifndef NM
#define NM NM_OF_CLASS
#endif

#define _PB_NI POLYBENCH_LOOP_BOUND(NI, ni)
#define _PB_NJ POLYBENCH_LOOP_BOUND(NJ, nj)
#define _PB_NK POLYBENCH_LOOP_BOUND(NK, nk)
#define _PB_NL POLYBENCH_LOOP_BOUND(NL, nl)
#define _PB_NM POLYBENCH_LOOP_BOUND(NM, nm)

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

/* doitgen: dataset sizes (PolyBench/C 4.2.1) and element type.

   Choose a class with -DMINI_DATASET ... -DEXTRALARGE_DATASET (LARGE_DATASET if none), or any size with
   -DNP=...; -DDATA_TYPE_IS_FLOAT computes in float. */
#ifndef PB_DOITGEN_H
#define PB_DOITGEN_H

#if !defined(MINI_DATASET) && !defined(SMALL_DATASET) && !defined(MEDIUM_DATASET) && \
    !defined(LARGE_DATASET) && !defined(EXTRALARGE_DATASET)
#define LARGE_DATASET
#endif

#if defined(MINI_DATASET)
#define NQ_OF_CLASS 8
#define NR_OF_CLASS 10
#define NP_OF_CLASS 12
#elif defined(SMALL_DATASET)
#define NQ_OF_CLASS 20
#define NR_OF_CLASS 25
#define NP_OF_CLASS 30
#elif defined(MEDIUM_DATASET)
#define NQ_OF_CLASS 40
#define NR_OF_CLASS 50
#define NP_OF_CLASS 60
#elif defined(LARGE_DATASET)
#define NQ_OF_CLASS 140
#define NR_OF_CLASS 150
#define NP_OF_CLASS 160
#elif defined(EXTRALARGE_DATASET)
#define NQ_OF_CLASS 220
#define NR_OF_CLASS 250
#define NP_OF_CLASS 270
#endif

#ifndef NQ
#define NQ NQ_OF_CLASS
#endif
#ifndef NR
#define NR NR_OF_CLASS
#endif
#ifndef NP
#define NP NP_OF_CLASS
#endif

#define _PB_NQ POLYBENCH_LOOP_BOUND(NQ, nq)
#define _PB_NR POLYBENCH_LOOP_BOUND(NR, nr)
#define _PB_NP POLYBENCH_LOOP_BOUND(NP, np)

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

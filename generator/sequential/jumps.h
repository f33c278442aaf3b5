
/* What running error bounds need (error_bounds.py): each number x has a bound e on its rounding error, of first order;
   0 where it is exact. Where a number is truncated or compared, x - reach and x + reach may give different answers: the
   answer is undecided, because another order of the operations or a contraction may give the other one.

   Way 0 gives the answers of the plain program. Each other way moves undecided numbers up or down: 1 and 2 all of them;
   3 and 4 in opposite directions at even and at odd integers, so that each count of a histogram is greatest and least.
   Then each way gives only one group of undecided answers the other value: what the groups change, each alone, adds up
   to what they change in other combinations. The last ways move undecided numbers at random. Slow programs have fewer
   groups and random ways, or none. */
#define ANTUNE_REACH 4.0  /* both results have such an error, and other orders a greater one, */
#define ANTUNE_FEWEST 16.0 /* but at least as many units */
#define ANTUNE_SUM 8.0    /* the errors of long sums grow like a square root, but not all are independent */
#define ANTUNE_GROUPS 8
#define ANTUNE_FIRST_GROUP 5
#define ANTUNE_FIRST_RANDOM (ANTUNE_FIRST_GROUP + ANTUNE_GROUPS)
#define ANTUNE_WAYS (ANTUNE_FIRST_RANDOM + 24)
#define ANTUNE_LEAST_WAYS 3
#define ANTUNE_MANY_RANDOM 16 /* so many random ways miss hardly any combination of two or three */
#define ANTUNE_MOST_WAYS_MS 10000.0 /* of processor time, for all ways */
#define ANTUNE_MOST_GROUPS_MS 4000.0 /* with more than two groups, */
#define ANTUNE_MOST_RANDOM_MS 2000.0 /* with random ways */
#define ANTUNE_UNIT_float 0x1p-24
#define ANTUNE_UNIT_double 0x1p-53
#define ANTUNE_IN_GROUPS (antune_way >= ANTUNE_FIRST_GROUP && antune_way < ANTUNE_FIRST_RANDOM)
static int antune_way, antune_groups = ANTUNE_GROUPS, antune_grouped;
static unsigned antune_jumps;
static unsigned long antune_undecided, antune_undecided_first;

/* Different rows of different nests of loops have different numbers, so that their answers are independent. */
static inline void antune_turn(unsigned nest, unsigned row) { antune_jumps = row * 2246822519u + nest * 3266489917u; }

static double antune_used_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static inline unsigned antune_mixed(unsigned x) {
  const unsigned number = x * 2654435761u;
  return (number ^ number >> 15) * 2246822519u >> 13;
}

/* Where an undecided number is moved: up (1), down (-1) or not. `other`: where its answer is another one than now, 0 if
   on both sides; `odd`: whether the integer between its answers is odd, -1 if there is none. */
static int antune_push(int other, int odd) {
  const unsigned number = antune_jumps++, mixed = antune_mixed(number);
  const int sign = antune_way & 1 ? 1 : -1;
  antune_undecided++;
  if (!antune_way) return 0;
  if (antune_way < 3) return sign;
  if (antune_way < ANTUNE_FIRST_GROUP) return (odd < 0 ? mixed & 1 : odd) ? sign : -sign;
  if (antune_way >= ANTUNE_FIRST_RANDOM) return antune_mixed(mixed + antune_way) & 1 ? 1 : -1;
  /* consecutive answers are in different groups */
  const int group = (number ^ antune_mixed(number / ANTUNE_GROUPS)) % antune_groups;
  if (group != antune_way - ANTUNE_FIRST_GROUP) return 0;
  return other ? other : mixed & 2 ? 1 : -1;
}

/* The bounds of arithmetic have no branches that depend on data, and call no function of the library (`fma` of doubles
   apart): both take longer than the arithmetic, and loops with them are not vectorized. `antune_greater` and
   `antune_lesser` are `fmax` and `fmin`: the number, where the other one is NaN. */
#define ANTUNE_INLINE static inline __attribute__((always_inline))
ANTUNE_INLINE double antune_greater(double a, double b) { return a > b ? a : b != b ? a : b; }
ANTUNE_INLINE double antune_lesser(double a, double b) { return a < b ? a : b != b ? a : b; }
ANTUNE_INLINE int antune_finite(double x) { return fabs(x) <= 0x1.fffffffffffffp1023; }
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) /* exactly the fmaxf and fminf that gcc calls */
ANTUNE_INLINE float antune_greater_float(float a, float b) { return a > b ? a : b != b ? a : b; }
ANTUNE_INLINE float antune_lesser_float(float a, float b) { return a < b ? a : b != b ? a : b; }
#define fmaxf antune_greater_float
#define fminf antune_lesser_float
#endif

/* Whether b is a power of two: it has no fraction. */
ANTUNE_INLINE int antune_power(double b) {
  uint64_t bits;
  memcpy(&bits, &b, sizeof bits);
  return !(bits & 0xfffffffffffff);
}

#define ANTUNE_BOUNDS(kind, exact_product) \
ANTUNE_INLINE double antune_unit_##kind(double z) { return fabs(z) * ANTUNE_UNIT_##kind; } \
/* Nothing is rounded where z is the sum, product or quotient of a and b: in double if they are floats. */ \
ANTUNE_INLINE double antune_sum_##kind(double a, double b, double z, double ea, double eb) { \
  const double part = z - a, rest = (a - (z - part)) + (b - part), unit = antune_unit_##kind(z); \
  return ea + eb + (rest == 0 ? 0 : unit); \
} \
ANTUNE_INLINE double antune_product_##kind(double a, double b, double z, double ea, double eb) { \
  const double rest = exact_product, unit = antune_unit_##kind(z); \
  return fabs(a) * eb + fabs(b) * ea + ea * eb + (rest == 0 ? 0 : unit); \
} \
/* Devices divide with several units of error, by powers of two without any. */ \
ANTUNE_INLINE double antune_quotient_##kind(double a, double b, double z, double ea, double eb) { \
  const double units = 4 * antune_unit_##kind(z); \
  const int exact = antune_power(b) & (z * b == a); \
  return (ea + fabs(z) * eb) / antune_greater(fabs(b) - eb, fabs(b) / 16) + (exact ? 0 : units); \
} \
ANTUNE_INLINE double antune_rounded_##kind(double x, double z, double e) { \
  const double rounded = e + antune_unit_##kind(z); \
  return x == z ? e : rounded; \
} \
/* old + more is z, one step of a sum: the errors of a few steps add up, and those that terms may have in common */ \
ANTUNE_INLINE double antune_added_##kind(double old, double more, double z, double eo, double em) { \
  const double unit = antune_sum_##kind(old, more, z, 0, 0), many = ANTUNE_SUM * unit; \
  const double most = antune_greater(eo, many); /* where squares underflow */ \
  return em + antune_lesser(eo + unit, antune_greater(sqrt(eo * eo + many * many), most)); \
} \
/* an infinite number, such as a quotient by 0, is never near another one */ \
ANTUNE_INLINE double antune_reach_##kind(double x, double e) { \
  const double reach = antune_greater(ANTUNE_REACH * e, ANTUNE_FEWEST * antune_unit_##kind(x)); \
  return (e > 0) & antune_finite(x) & antune_finite(e) ? reach : 0; \
} \
/* the same for how far the results of two programs can be apart */ \
ANTUNE_INLINE double antune_apart_##kind(double x, double e) { \
  const double reach = antune_reach_##kind(x, e); \
  return antune_finite(x) & antune_finite(e) ? reach : HUGE_VAL; \
} \
/* z is the lesser or the greater one */ \
ANTUNE_INLINE double antune_extreme_##kind(double a, double b, double z, double ea, double eb) { \
  const double both = antune_greater(ea, eb), own = z == a ? ea : eb; \
  return fabs(a - b) <= antune_reach_##kind(z, both) ? both : own; \
} \
/* The value of a comparison: `plain`, or where it is undecided, `up` for l moved up, else not `up`. */ \
ANTUNE_INLINE int antune_compared_##kind(int plain, int up, double l, double r, double e) { \
  if (e > 0 && fabs(l - r) <= antune_reach_##kind(antune_greater(fabs(l), fabs(r)), e)) { \
    const int push = antune_push(plain == up ? -1 : 1, -1); \
    return push ? (push > 0 ? up : !up) : plain; \
  } \
  return plain; \
}

ANTUNE_BOUNDS(float, (a * b - z))
ANTUNE_BOUNDS(double, fma(a, b, -z))

/* y for x, as long as it is within an integer type like x is. */
ANTUNE_INLINE double antune_within(double y, double x, double least, double most) {
  const double within = antune_lesser(antune_greater(y, least), most);
  return (x > least - 1) & (x < most + 1) ? within : y;
}

/* The sign of what moves a number to another answer; 0 if both do. */
static inline int antune_other(double low, double own, double high) { return own == high ? -1 : own == low ? 1 : 0; }

/* What is truncated to an integer instead of x. */
static inline double antune_cut(double x, double reach, double least, double most) {
  const double low = (long)(x - reach), high = (long)(x + reach);
  if (!(reach > 0) || low == high) return x;
  return antune_within(x + antune_push(antune_other(low, (long)x, high), (long)high & 1) * reach, x, least, most);
}

/* floor, ceil, round, trunc or rint of x, or of an undecided x that was moved. */
#define ANTUNE_STEP(function, x, reach) ({ \
    const double antune_x = (x), antune_r = (reach), antune_own = function(antune_x), \
                 antune_low = function(antune_x - antune_r), antune_high = function(antune_x + antune_r); \
    antune_low == antune_high ? antune_low : function(antune_x + antune_r * antune_push( \
        antune_other(antune_low, antune_own, antune_high), __builtin_fmod(antune_high, 2) != 0)); \
  })

/* The bits of x, or of an x that was moved: by all of its reach, then by parts of it, because no two patterns of low bits
   bound the others. */
#define ANTUNE_BITS(function, x, reach) ({ \
    const double antune_x = (x), antune_r = (reach); \
    function(antune_x - antune_r) == function(antune_x + antune_r) ? function(antune_x) : \
        function(antune_x + antune_r * antune_part() * antune_push(0, -1)); \
  })

static inline double antune_part(void) {
  return antune_way < 3 ? 1 : (antune_mixed(antune_jumps + antune_way * 40503u) % 1024 + 1) / 1024.0;
}

/* The error of another function whose argument x has the error e, beside its own: by its values as far below and above x
   as another program's x may be, so that the reach of a function that jumps there is the jump. */
#define ANTUNE_CHANGE(below, z, above) \
  (antune_greater(__builtin_fabs((double)(below) - (z)), __builtin_fabs((double)(above) - (z))) / ANTUNE_REACH)

/* A subscript that another answer may have moved out of its array. */
static inline long antune_index(long i, long extent) { return i < 0 ? 0 : i < extent ? i : extent - 1; }

/* A divisor, also where the program does not divide by it because it is 0. */
#define antune_divisor(d) ({ const __auto_type antune_d = (d); antune_d ? antune_d : 1; })

/* Way 0 must give the results of the plain program, unless the compiler contracts the two differently. Zeros of both
   signs are equal: where compilers need not respect traps, they turn (float)(int)x into truncf(x). */
#ifdef __FP_FAST_FMAF
#define ANTUNE_EQUAL(number, data, plain, count)
#else
#define ANTUNE_EQUAL(number, data, plain, count) do { \
    for (size_t antune_i = 0; antune_i < (count); antune_i++) { \
      const __auto_type antune_a = number((data)[antune_i]); \
      const __auto_type antune_b = number((plain)[antune_i]); \
      if (antune_a != antune_b && (antune_a == antune_a || antune_b == antune_b)) \
        antune_fail("the results differ from those of the plain program"); \
    } \
  } while (0)
#endif

/* Only one of two numbers is NaN. */
#define ANTUNE_UNLIKE(a, b) (((a) != (a)) != ((b) != (b)))

/* The least and the greatest value of each element in all ways; `low`, `high`: those of this way, `plain`: that of the
   plain program, `number`: what they mean. What is NaN in one of the two programs only remains. */
#define ANTUNE_WIDEN(number, low, high, plain, least, most, count) do { \
    for (size_t antune_i = 0; antune_i < (count); antune_i++) { \
      if (number((low)[antune_i]) < number((least)[antune_i]) || \
          ANTUNE_UNLIKE(number((low)[antune_i]), number((plain)[antune_i]))) (least)[antune_i] = (low)[antune_i]; \
      if (number((high)[antune_i]) > number((most)[antune_i]) || \
          ANTUNE_UNLIKE(number((high)[antune_i]), number((plain)[antune_i]))) (most)[antune_i] = (high)[antune_i]; \
    } \
  } while (0)

/* How much a is more than b. Doubles do not hold every integer of 64 bits. */
#define ANTUNE_MORE(a, b) ((double)(a) - (double)(b))
#define ANTUNE_MORE_LONG(a, b) ((a) < (b) ? -(double)((unsigned long)(b) - (unsigned long)(a)) \
                                          : (double)((unsigned long)(a) - (unsigned long)(b)))

/* The greatest change of each element that wraps, modulo 2^n, in all ways; `kind`: the signed type of n bits. */
#define ANTUNE_AROUND(kind, data, plain, around, count) do { \
    for (size_t antune_i = 0; antune_i < (count); antune_i++) { \
      const double antune_change = __builtin_fabs((double)(kind)((data)[antune_i] - (plain)[antune_i])); \
      if (antune_change > (around)[antune_i]) (around)[antune_i] = antune_change; \
    } \
  } while (0)

/* What the groups add to each element, and what they take away, each alone; how many groups change it. */
#define ANTUNE_GROUPED(more, number, data, plain, gained, lost, groups, count) do { \
    for (size_t antune_i = 0; ANTUNE_IN_GROUPS && antune_i < (count); antune_i++) { \
      const double antune_more = more(number((data)[antune_i]), number((plain)[antune_i])); \
      if (antune_more > 0) (gained)[antune_i] += antune_more; \
      if (antune_more < 0) (lost)[antune_i] -= antune_more; \
      (groups)[antune_i] += antune_more != 0; \
    } \
  } while (0)

/* How far rounding alone may move each element, in any way. */
#define ANTUNE_APART(kind, number, data, errors, apart, count) do { \
    for (size_t antune_i = 0; antune_i < (count); antune_i++) \
      (apart)[antune_i] = antune_greater( \
          (apart)[antune_i], antune_apart_##kind(number((data)[antune_i]), (errors)[antune_i])); \
  } while (0)

/* The lesser one of what the groups add and take away: in the other ways it cancels. */
#define ANTUNE_BALANCE(gained, lost, count) do { \
    for (size_t antune_i = 0; antune_i < (count); antune_i++) \
      (gained)[antune_i] = antune_lesser((gained)[antune_i], (lost)[antune_i]); \
  } while (0)

/* Whether what several answers change together was seen at each element that it changes. */
static int antune_sampled(void) { return antune_grouped && antune_way - ANTUNE_FIRST_RANDOM >= ANTUNE_MANY_RANDOM; }

/* True if this way is wanted and there is time for it. A program without undecided answers before its results needs only
   way 0. */
static int antune_another(int way) {
  static double began_ms, last_ms;
  const double now_ms = antune_used_ms();
  if (!way) began_ms = now_ms;
  const double took_ms = now_ms - last_ms, spent_ms = now_ms - began_ms;
  last_ms = now_ms;
  if (way == 1) {
    antune_undecided_first = antune_undecided;
#ifdef ANTUNE_WITH_PAIRS /* there is no time for enough of them, and runs with another rounding serve instead */
    if (ANTUNE_LEAST_WAYS * took_ms > ANTUNE_MOST_WAYS_MS) return 0;
#endif
  }
  if (way == ANTUNE_FIRST_GROUP)
    while (antune_groups > 2 && spent_ms + antune_groups * took_ms > ANTUNE_MOST_GROUPS_MS) antune_groups /= 2;
  const int more = way - ANTUNE_FIRST_GROUP - antune_groups;
  antune_grouped = more >= 0;
  antune_way = antune_grouped ? ANTUNE_FIRST_RANDOM + more : way;
  if (!way) return antune_fastest_ms < ANTUNE_MOST_MS / 4;
  return antune_way < ANTUNE_WAYS && antune_undecided_first &&
         spent_ms + took_ms < (antune_grouped ? ANTUNE_MOST_RANDOM_MS : ANTUNE_MOST_WAYS_MS);
}

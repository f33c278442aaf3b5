
/* What running error bounds need (error_bounds.py): each number x has a bound e on its rounding error, of first order;
   0 where it is exact. Where a number is truncated or compared, x - reach and x + reach may give different answers: the
   answer is undecided, because another order of the operations or a contraction may give the other one. Way 0 gives the
   answers of the plain program. Ways 1 and 2 give undecided answers for x moved up or down at random, in opposite ways,
   3 and 4 all for x moved up, or all for x moved down; the others move only one answer in ANTUNE_PARTS: where all move,
   what they do to each other's results can cancel. */
#define ANTUNE_REACH 4.0  /* both results have such an error, and other orders a greater one, */
#define ANTUNE_FEWEST 16.0 /* but at least as many units */
#define ANTUNE_SUM 8.0    /* the errors of long sums grow like a square root, but not all are independent */
#define ANTUNE_PARTS 8
#define ANTUNE_WAYS 13
#define ANTUNE_LEAST_WAYS 3
#define ANTUNE_FEW_WAYS 5 /* if all results are real numbers, which have a tolerance in any case */
#define ANTUNE_MOST_WAYS_MS (ANTUNE_MOST_MS / 2)
#define ANTUNE_MOST_PARTS_MS 3000.0
#define ANTUNE_UNIT_float 0x1p-24
#define ANTUNE_UNIT_double 0x1p-53
static int antune_way;
static unsigned antune_jumps;
static unsigned long antune_undecided, antune_undecided_first;

static inline void antune_turn(unsigned row) { antune_jumps = row * 2246822519u; }

/* Where an undecided number is moved: up, down or not. */
static int antune_push(void) {
  const unsigned number = antune_jumps++ * 2654435761u, mixed = (number ^ number >> 15) * 2246822519u >> 13;
  const int sign = antune_way & 1 ? 1 : -1;
  antune_undecided++;
  if (!antune_way) return 0;
  if (antune_way < 3) return mixed & 1 ? sign : -sign;
  return antune_way < 5 || (mixed + antune_way / 2) % ANTUNE_PARTS == 0 ? sign : 0;
}

#define ANTUNE_BOUNDS(kind, exact_product) \
static inline double antune_unit_##kind(double z) { return fabs(z) * ANTUNE_UNIT_##kind; } \
/* Nothing is rounded where z is the sum, product or quotient of a and b: in double if they are floats. */ \
static inline double antune_sum_##kind(double a, double b, double z, double ea, double eb) { \
  const double part = z - a, rest = (a - (z - part)) + (b - part); \
  return ea + eb + (rest == 0 ? 0 : antune_unit_##kind(z)); \
} \
static inline double antune_product_##kind(double a, double b, double z, double ea, double eb) { \
  return fabs(a) * eb + fabs(b) * ea + ea * eb + (exact_product == 0 ? 0 : antune_unit_##kind(z)); \
} \
/* Devices divide with several units of error, by powers of two without any. */ \
static inline double antune_quotient_##kind(double a, double b, double z, double ea, double eb) { \
  int power; \
  const int exact = fabs(frexp(b, &power)) == 0.5 && z * b == a; \
  return (ea + fabs(z) * eb) / fabs(b) + (exact ? 0 : 4 * antune_unit_##kind(z)); \
} \
static inline double antune_rounded_##kind(double x, double z, double e) { \
  return x == z ? e : e + antune_unit_##kind(z); \
} \
/* old + more is z, one step of a sum */ \
static inline double antune_added_##kind(double old, double more, double z, double eo, double em) { \
  const double unit = ANTUNE_SUM * antune_sum_##kind(old, more, z, 0, 0); \
  return eo || em || unit ? sqrt(eo * eo + em * em + unit * unit) : 0; \
} \
/* an infinite number, such as a quotient by 0, is never near another one */ \
static inline double antune_reach_##kind(double x, double e) { \
  return e > 0 && isfinite(x) && isfinite(e) ? fmax(ANTUNE_REACH * e, ANTUNE_FEWEST * antune_unit_##kind(x)) : 0; \
} \
/* z is the lesser or the greater one */ \
static inline double antune_extreme_##kind(double a, double b, double z, double ea, double eb) { \
  const double both = fmax(ea, eb); \
  return fabs(a - b) <= antune_reach_##kind(z, both) ? both : z == a ? ea : eb; \
} \
/* The value of a comparison: `plain`, or where it is undecided, `up` for l moved up, else not `up`. */ \
static inline int antune_compared_##kind(int plain, int up, double l, double r, double e) { \
  if (e > 0 && fabs(l - r) <= antune_reach_##kind(fmax(fabs(l), fabs(r)), e)) { \
    const int push = antune_push(); \
    return push ? (push > 0 ? up : !up) : plain; \
  } \
  return plain; \
}

ANTUNE_BOUNDS(float, (a * b - z))
ANTUNE_BOUNDS(double, fma(a, b, -z))

/* y for x, as long as it is within an integer type like x is. */
static inline double antune_within(double y, double x, double least, double most) {
  return x > least - 1 && x < most + 1 ? fmin(fmax(y, least), most) : y;
}

/* What is truncated to an integer instead of x. */
static inline double antune_cut(double x, double reach, double least, double most) {
  if (!(reach > 0) || (long)(x - reach) == (long)(x + reach)) return x;
  return antune_within(x + antune_push() * reach, x, least, most);
}

/* floor, ceil, round, trunc or rint of x, or of an undecided x that was moved. */
#define ANTUNE_STEP(function, x, reach) ({ \
    const double antune_x = (x), antune_r = (reach), antune_low = function(antune_x - antune_r), \
                 antune_high = function(antune_x + antune_r); \
    antune_low == antune_high ? antune_low : function(antune_x + antune_push() * antune_r); \
  })

/* The error of another function whose argument x has the error e: by its values at x - e and x + e, and its own. */
#define ANTUNE_CHANGE(below, z, above) fmax(fabs((double)(below) - (z)), fabs((double)(above) - (z)))

/* A subscript that another answer may have moved out of its array. */
static inline long antune_index(long i, long extent) { return i < 0 ? 0 : i < extent ? i : extent - 1; }

/* A divisor, also where the program does not divide by it because it is 0. */
#define antune_divisor(d) ({ const __auto_type antune_d = (d); antune_d ? antune_d : 1; })

/* Way 0 must give the results of the plain program, unless the compiler contracts the two differently. */
#ifdef __FP_FAST_FMAF
#define ANTUNE_EQUAL(data, plain, size)
#else
#define ANTUNE_EQUAL(data, plain, size) do { \
    if (memcmp((data), (plain), (size))) antune_fail("the results differ from those of the plain program"); \
  } while (0)
#endif

/* The least and the greatest value of each element in all ways; `low`, `high`: those of this way, `number`: what they
   mean. */
#define ANTUNE_WIDEN(number, low, high, least, most, count) do { \
    for (size_t antune_i = 0; antune_i < (count); antune_i++) { \
      if (number((low)[antune_i]) < number((least)[antune_i])) (least)[antune_i] = (low)[antune_i]; \
      if (number((high)[antune_i]) > number((most)[antune_i])) (most)[antune_i] = (high)[antune_i]; \
    } \
  } while (0)

/* True if this way is wanted and there is time for it. A program without undecided answers before its results needs only
   way 0. */
static int antune_another(int way, int most) {
  static double began_ms, last_ms;
  const double now_ms = antune_now();
  if (!way) began_ms = now_ms;
  const double took_ms = now_ms - last_ms, spent_ms = now_ms - began_ms;
  last_ms = now_ms;
  if (way == 1) antune_undecided_first = antune_undecided;
  antune_way = way;
  if (!way) return antune_fastest_ms < ANTUNE_MOST_MS / 4;
  return way < most && antune_undecided_first &&
         spent_ms + took_ms < (way < 5 ? ANTUNE_MOST_WAYS_MS : ANTUNE_MOST_PARTS_MS);
}

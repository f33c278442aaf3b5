"""The names of exported functions and of their parameters in C: those of the original, where the export can use them.

The original may be called as nothing can be called in C++, in the headers that exports include, or in an export itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from generator.emit.names import keyword, macros

_OWN = frozenset(("antune", "antune_sizes", "fprintf", "exit"))
"""What the functions with these parameters use."""
_FUNCTIONS = """\
abort abs acos acosh asctime asin asinh atan atan2 atanh atexit atof atoi atol atoll bsearch calloc cbrt ceil clearerr
clock copysign cos cosh ctime difftime div dlclose dlerror dlopen dlsym erf erfc exit exp exp2 expm1 fabs fclose fdim
feof ferror fflush fgetc fgetpos fgets floor fma fmax fmin fmod fopen fprintf fputc fputs fread free freopen frexp
fscanf fseek fsetpos ftell fwrite gamma getc getchar getenv gets gmtime hypot ilogb index isalnum isalpha iscntrl
isdigit isgraph islower isprint ispunct isspace isupper isxdigit j0 j1 jn labs ldexp ldiv lgamma llabs lldiv llrint
llround localtime log log10 log1p log2 logb lrint lround malloc mblen mbtowc memchr memcmp memcpy memmove memset
mktime modf nan nearbyint nextafter nexttoward perror pow printf putc putchar putenv puts qsort raise rand random
realloc remainder remove remquo rename rewind rindex rint round scalbln scalbn scanf setbuf setenv setjmp setvbuf
signal sin sinh snprintf sprintf sqrt srand sscanf strcat strchr strcmp strcoll strcpy strcspn strdup strerror
strftime strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll
strtoul strtoull strxfrm system tan tanh tgamma time tmpfile tmpnam toascii tolower toupper trunc tzset ungetc
vfprintf vprintf vsnprintf vsprintf wait y0 y1 yn
asprintf dprintf drand48 drem erand48 exp10 ffs getdelim getline pclose popen pow10 select significand sincos
cospi cyl_bessel_i0 cyl_bessel_i1 erfcinv erfcx erfinv norm norm3d norm4d normcdf normcdfinv rcbrt rhypot rnorm rnorm3d
rnorm4d rsqrt sincospi sinpi"""
"""Functions of standard headers, of GNU's and of CUDA's; those of math.h have forms for float, too."""


def function_name(name: str) -> str:
    """Return the name in C of the exported function, whose original is called `name`, which may be no name at all."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    name = f"_{name}" if name[:1].isdigit() else name
    taken = _foreign(name) or not set(_FUNCTIONS.split()).isdisjoint((name, name.removesuffix("f")))
    return "main_scop" if name == "main" else f"{name}_" if taken else name


def parameter_names(names: Sequence[str], function: str) -> dict[str, str]:
    """Return the names in C of the parameters of the exported `function`, by the original ones."""
    found: dict[str, str] = {}
    for name in names:
        wanted = f"own_{name}" if name.startswith(f"{function}_") else name
        while _foreign(wanted) or wanted in _OWN or wanted == function or (
                wanted != name and wanted in {*names, *found.values()}):
            wanted += "_"
        found[name] = wanted
    return found


def _foreign(name: str) -> bool:
    """Return whether nothing can have this name, because compilers or headers use it."""
    return keyword(name) or bool(macros(name))

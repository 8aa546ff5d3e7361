"""Names in files for other languages: an identifier for each leaf, and what a function may be called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from wengert.engine.core.errors import ArgumentError, message

_NO_LETTER = re.compile(r"\W+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Words that C, C++ or JavaScript keep for themselves, macros of GCC, and the names of the other parameters.
_WORDS = """alignas alignof and and_eq arena asm auto bitand bitor bool break case catch char char16_t char32_t
char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
decltype default delete do double dynamic_cast else enum explicit export extern false float for friend function
goto if import in inline int linux long mutable namespace new noexcept not not_eq null nullptr operator or or_eq
private protected public register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
typeof_unqual union unix unsigned using var virtual void volatile wchar_t while xor xor_eq"""
#: Functions of math.h, most of which exist for float and long double, too: sinf, sinl.
_MATHEMATICS = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2
expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10
log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln
scalbn significand sin sinh sqrt tan tanh tgamma trunc y0 y1 yn"""
#: Names that other headers of C and the test program define.
_LIBRARY = """BUFSIZ EOF HUGE_VAL INFINITY NAN NULL abort abs atexit atof atoi atol bcmp bcopy bsearch bzero
calloc div errno exit fclose feof ferror fflush ffs fgetc fgets finite fopen fpclassify fprintf fputc fputs
fread free freopen fscanf fseek ftell fwrite getc getchar getenv gets index isfinite isinf isnan isnormal labs
ldiv main malloc memchr memcmp memcpy memmove memset perror printf putc putchar puts qsort rand realloc remove
rename rewind rindex scanf setbuf setvbuf signbit snprintf sprintf srand sscanf stderr stdin stdout strcat
strchr strcmp strcoll strcpy strcspn strdup strerror strlen strncat strncmp strncpy strpbrk strrchr strspn
strstr strtod strtok strtol strtoul strxfrm system tmpfile tmpnam ungetc vfprintf vprintf vsprintf check_bits
check_close_double check_close_float check_error failures past spread"""
_TAKEN = frozenset(
    f"{_WORDS} {_LIBRARY}".split() + [name + kind for name in _MATHEMATICS.split() for kind in ("", "f", "l")]
)
#: Names that ``stdint.h``, ``stdbool.h`` and GCC define, or that POSIX and GNU add to ``math.h``.
_HEADERS = """INT8_MIN INT16_MIN INT32_MIN INT64_MIN M_E M_PI bool false true drem isinff isnanf jnf pow10 signgam
sincos matherr I complex imaginary fpclassify"""
RESERVED = _TAKEN | frozenset(_HEADERS.split())
"""The names that no variable of C may have beside ``math.h`` and ``stdint.h``."""


class Names:
    """Makes identifiers of paths, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set(_WORDS.split())

    def like(self, path: str) -> str:
        """Return an identifier that no other path has: ``params_w`` for ``params['w']``."""
        name = _NO_LETTER.sub("_", path.encode("ascii", "replace").decode()).strip("_") or "x"
        name = f"x{name}" if name[0].isdigit() else name
        unused, number = name, 2
        while unused in self._taken:
            unused, number = f"{name}_{number}", number + 1
        self._taken.add(unused)
        return unused


def check_apart(name: str, leaves: Iterable[str]) -> None:
    """Raise `ArgumentError` for a function with the name of one of its own parameters."""
    if name in leaves:
        requirement = (
            "the last part of the path must not be the name of an argument or result of the function"
        )
        raise ArgumentError(message("export", requirement, repr(name), f"write {f'compute_{name}'!r}, say"))


def check_function(name: str) -> None:
    """Raise `ArgumentError` for a name that is not an identifier, is a keyword, or is in C's library."""
    if not _IDENTIFIER.fullmatch(name):
        requirement = "the last part of the path must be an identifier of C, without an ending"
        usual = re.sub(r"[^A-Za-z0-9_]+", "_", PurePath(name).stem).strip("_")
        usual = usual if _IDENTIFIER.fullmatch(usual) else f"f{usual}"
    elif name in _TAKEN:
        requirement = "the last part of the path must be a name that C, C++ and their libraries leave free"
        usual = f"my_{name}"
    else:
        return
    raise ArgumentError(message("export", requirement, repr(name), f"write {usual!r}, say"))

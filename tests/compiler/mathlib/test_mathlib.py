"""Every elementary function, compiled, against exact values: errors in ulp, special values bit for bit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import binding

from tests.draws import examples
from wengert.compiler import mathlib
from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.ir_builder import Kind

binding.initialize_native_target()
binding.initialize_native_asmprinter()

EXPONENTIAL = ["exp", "exp2", "expm1", "tanh", "expit", "sinh", "cosh"]
LOGARITHMIC = ["log", "log2", "log10", "log1p", "arcsinh", "arccosh", "arctanh", "sqrt", "cbrt"]
CIRCULAR = ["sin", "cos", "tan", "arcsin", "arccos", "arctan"]
ORDINARY = EXPONENTIAL + LOGARITHMIC + CIRCULAR
SPECIAL = ["erf", "erfc", "erfinv", "lgamma", "digamma"]
UNARY = ORDINARY + SPECIAL
BINARY = ["power", "arctan2", "hypot", "logaddexp", "logaddexp2"]
SCALARS = {"float": np.float32, "double": np.float64}
#: The largest error allowed, in ulp, where it is less than 2.
LIMITS: dict[str | tuple[str, str], float] = dict.fromkeys(
    ["exp", "exp2", *LOGARITHMIC, "sin", "cos", "arctan", "power"], 1.1
)
LIMITS |= {
    "sqrt": 0.5,
    "tan": 1.3,
    "erf": 1.4,
    "erfc": 1.5,
    "arctan2": 1.6,
    ("sin", "float"): 1.75,
    ("cos", "float"): 1.85,
}
#: Wider formats, for many points at once.
WIDE = {"float": np.float64, "double": np.longdouble}
LONG = np.finfo(np.longdouble).nmant > 60

LOOP = """
define void @run({arguments}, ptr noalias %out, i64 %count) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %after
body:
{loads}
  %result = call {kind} @{symbol}({operands})
  %place = getelementptr {scalar}, ptr %out, i64 %i
  store {kind} %result, ptr %place, align {align}
  %next = add i64 %i, {lanes}
  br label %head
after:
  ret void
}}
"""


class Native(NamedTuple):
    """A compiled loop over one function, and what keeps it alive."""

    engine: Any
    call: Callable[..., None]
    lanes: int
    dtype: Any

    def __call__(self, *operands: np.ndarray) -> np.ndarray:
        count = operands[0].size
        padded = [np.pad(each.astype(self.dtype), (0, -count % self.lanes), "edge") for each in operands]
        out = np.empty_like(padded[0])
        self.call(*(each.ctypes.data for each in (*padded, out)), out.size)
        return out[:count]


@cache
def native(name: str, scalar: str, lanes: int) -> Native:
    kind, count = Kind(scalar, lanes), 2 if name in BINARY else 1
    text, declarations = mathlib.definitions([(name, kind)], host())
    loads = "".join(
        f"  %p{i} = getelementptr {scalar}, ptr %in{i}, i64 %i\n"
        f"  %x{i} = load {kind}, ptr %p{i}, align {kind.bits // 8}\n"
        for i in range(count)
    )
    loop = LOOP.format(
        arguments=", ".join(f"ptr noalias %in{i}" for i in range(count)),
        operands=", ".join(f"{kind} %x{i}" for i in range(count)),
        symbol=mathlib.symbol(name, kind),
        align=kind.bits // 8,
        **{"loads": loads, "kind": kind, "scalar": scalar, "lanes": lanes},
    )
    module = binding.parse_assembly("\n".join([text, *sorted(declarations), loop]))
    module.verify()
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features().flatten()
    machine = target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=2)
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(module, passes)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (count + 1), ctypes.c_int64)
    return Native(engine, signature(engine.get_function_address("run")), lanes, SCALARS[scalar])


def widest(name: str, scalar: str) -> Native:
    return native(name, scalar, 64 // SCALARS[scalar]().itemsize)


# -- exact values ----------------------------------------------------------------------------------------------


def expit(x: Any) -> Any:
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, decay) / (1 + decay)


def exact(name: str, *operands: Any) -> Any:
    """Return one value in many digits."""
    x, *rest = map(mp.mpf, operands)
    own: dict[str, Callable[..., Any]] = {
        "exp2": lambda: mp.mpf(2) ** x,
        "expit": lambda: 1 / (1 + mp.exp(-x)),
        "log2": lambda: mp.log(x) / mp.log(2),
        "lgamma": lambda: mp.re(mp.loggamma(x)),
        "erf": lambda: mp.erf(max(min(x, 100), -100)),
        "erfc": lambda: mp.erfc(max(min(x, 100), -100)),
        "cbrt": lambda: mp.sign(x) * mp.cbrt(abs(x)),
        "power": lambda: x ** rest[0],
        "logaddexp": lambda: mp.log(mp.exp(x) + mp.exp(rest[0])),
        "logaddexp2": lambda: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** rest[0]) / mp.log(2),
    }
    with mp.workdps(60):
        return own[name]() if name in own else getattr(mp, name.replace("arc", "a"))(x, *rest)


def domain(name: str, x: np.ndarray) -> np.ndarray:
    """Return the points where a function is real and finite."""
    if name in ("log", "log2", "log10", "sqrt", "lgamma", "digamma"):
        return x[x > 0]
    if name == "log1p":
        return x[x > -1]
    if name == "arccosh":
        return x[x >= 1]
    if name in ("arcsin", "arccos", "arctanh", "erfinv"):
        return x[np.abs(x) < 1]
    return x


def spread(scalar: str, count: int, seed: int = 0) -> np.ndarray:
    """Return finite numbers whose bit patterns are spread over all of them."""
    bits = SCALARS[scalar]().itemsize * 8
    step = 1 << (bits - count.bit_length() + 1)
    within = np.random.default_rng(seed).integers(0, step, count, dtype=np.uint64)
    patterns = np.arange(count, dtype=np.uint64) * np.uint64(step) + within
    x = patterns.astype(f"uint{bits}").view(SCALARS[scalar])
    return x[np.isfinite(x)]


def interesting(scalar: str, count: int, seed: int = 0) -> np.ndarray:
    """Return numbers where functions bend, overflow, cancel or reduce their argument."""
    draws = np.random.default_rng(seed)
    ranges = [draws.uniform(-size, size, count) for size in (0.5, 1, 2, 10, 110, 760, 4000, 3e4)]
    near_one = 1 + draws.uniform(-1, 1, count) * 10.0 ** draws.uniform(-8, -1, count)
    quarters = draws.integers(-20000, 20000, count) * (np.pi / 2)
    return np.concatenate([*ranges, near_one, -near_one, quarters]).astype(SCALARS[scalar])


def errors(got: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return errors in units of the last place; infinite where a limit is missed."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        nearest = truth.astype(got.dtype)
        finite = np.isfinite(nearest) & np.isfinite(got)
        unit = np.spacing(np.abs(np.where(finite, nearest, 1))).astype(truth.dtype)
        distance = np.abs(np.where(finite, got, 0).astype(truth.dtype) - np.where(finite, truth, 0)) / unit
    same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
    return np.where(finite, distance, np.where(same, 0, np.inf))


def check(name: str, scalar: str, operands: tuple[np.ndarray, ...], truth: np.ndarray) -> None:
    found = errors(widest(name, scalar)(*operands), truth)
    worst = int(np.argmax(found))
    where = [float(each[worst]) for each in operands]
    assert found[worst] <= LIMITS.get((name, scalar), LIMITS.get(name, 2.0)), (
        f"{name} {scalar}: {found[worst]:.3f} ulp at {where}"
    )


def wide(name: str, scalar: str, *operands: np.ndarray) -> np.ndarray:
    """Return values computed in a wider format."""
    if scalar == "double" and not LONG:
        pytest.skip("no format is wider than float64 here")
    function = expit if name == "expit" else getattr(np, name)
    with np.errstate(all="ignore"):
        return function(*(each.astype(WIDE[scalar]) for each in operands))


def digits(value: Any) -> np.longdouble:
    """Round a number of many digits to the widest format, overflow to infinity."""
    if mp.isinf(value) or abs(value) > mp.mpf(2) ** 1100:
        return np.longdouble(np.inf) * int(mp.sign(value))
    return np.longdouble(0) if abs(value) < mp.mpf(2) ** -1100 else np.longdouble(mp.nstr(value, 25))


def truths(name: str, *operands: np.ndarray) -> np.ndarray:
    """Return exact values, rounded to the widest format."""
    return np.array([digits(exact(name, *map(float, each))) for each in zip(*operands, strict=True)])


# -- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", UNARY)
def test_a_sample_against_many_digits(name, scalar):
    draws = np.random.default_rng(1)
    x = domain(name, np.concatenate([spread(scalar, 512), interesting(scalar, 100)]))
    if name == "erfinv":
        x = np.concatenate([x, 1 - 10.0 ** draws.uniform(-7 if scalar == "float" else -15, -1, 100)])
        x = domain(name, x.astype(SCALARS[scalar]))
    x = draws.choice(x, min(x.size, 300 if name in SPECIAL else 600), replace=False)
    check(name, scalar, (x,), truths(name, x))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ORDINARY)
def test_many_points(name, scalar):
    x = np.concatenate([spread(scalar, 1 << 17), interesting(scalar, 1 << 11)])
    check(name, scalar, (x,), wide(name, scalar, x))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["power", "arctan2", "hypot"])
def test_many_pairs(name, scalar):
    draws = np.random.default_rng(2)
    x = np.concatenate([spread(scalar, 1 << 15), interesting(scalar, 1 << 11)])
    y = draws.permutation(x)
    if name == "power":
        x, largest = np.abs(x), np.log(np.finfo(x.dtype).max)
        with np.errstate(all="ignore"):
            extreme = draws.uniform(-1.1, 1.1, x.size) * largest / np.log(x.astype(np.longdouble))
            extreme = extreme.astype(x.dtype)
        x, y = np.concatenate([x, x]), np.concatenate([y, np.where(np.isfinite(extreme), extreme, y)])
    check(name, scalar, (x, y), wide(name, scalar, x, y))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", BINARY)
def test_a_sample_of_pairs_against_many_digits(name, scalar):
    draws = np.random.default_rng(3)
    x, y = (draws.uniform(0.1, 40, 400).astype(SCALARS[scalar]) for _ in range(2))
    check(name, scalar, (x, y), truths(name, x, y))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_exponentials_where_they_cancel(name, scalar):
    draws = np.random.default_rng(4)
    x, y = (draws.uniform(-3, 3, 4096).astype(SCALARS[scalar]) for _ in range(2))
    truth = wide(name, scalar, x, y)
    size = np.maximum(np.maximum(np.abs(x), np.abs(y)), np.abs(truth))
    assert np.all(np.abs(native(name, scalar, 8)(x, y) - truth) <= 2 * np.spacing(size.astype(x.dtype)))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_left_of_zero(name, scalar):
    """Near the zeros the error is that of the terms that cancel: some ulp of the reflected value, or of 2."""
    x = -np.random.default_rng(6).uniform(0.01, 30, 300).astype(SCALARS[scalar])
    truth, reflected = truths(name, x), truths(name, 1 - x)
    size = np.maximum(np.maximum(np.abs(truth), np.abs(reflected)), 2.0).astype(x.dtype)
    assert np.all(np.abs(native(name, scalar, 8)(x) - truth) <= 2 * np.spacing(size))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_and_neighbours_of_multiples_of_a_quarter_turn(name, scalar):
    draws = np.random.default_rng(5)
    dtype = SCALARS[scalar]
    exponents = draws.uniform(3, np.log10(np.finfo(dtype).max) - 0.01, 300)
    with mp.workdps(400):
        multiples = [mp.mpf(int(n)) * mp.pi / 2 for n in 10 ** draws.uniform(0, 18, 300)]
        near = np.array([float(each) for each in multiples])
    worst = 6381956970095103.0 * 2.0**797  # the float64 that is nearest to a multiple of pi/2 (Kahan)
    with np.errstate(over="ignore"):
        x = np.concatenate([10.0**exponents, -(10.0**exponents), near, [worst]]).astype(dtype)
    x = x[np.isfinite(x)]
    with mp.workdps(700):
        truth = np.array([digits(getattr(mp, name)(mp.mpf(float(each)))) for each in x], np.longdouble)
    check(name, scalar, (x,), truth)


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDINARY)
def test_a_sixteenth_of_all_float32_numbers(name):
    for seed in range(64):
        x = spread("float", 1 << 22, seed)
        check(name, "float", (x,), wide(name, "float", x))


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDINARY)
def test_many_float64_numbers(name):
    for seed in range(8):
        x = np.concatenate([spread("double", 1 << 20, seed), interesting("double", 1 << 17, seed)])
        check(name, "double", (x,), wide(name, "double", x))


# -- special values --------------------------------------------------------------------------------------------


def specials(dtype: Any) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = [0, np.inf, 1, 2, 3, 0.5, 1.5, info.max, info.tiny, info.smallest_subnormal]
    sizes += [2.0**info.nmant + 1, 2.0 ** (info.nmant + 1) - 1, 2.0 ** (info.nmant + 1) + 2]
    return np.array([sign * size for size in sizes for sign in (1, -1)] + [np.nan], dtype)


def assert_alike(got: np.ndarray, wanted: np.ndarray, *operands: np.ndarray) -> None:
    """Assert equal values, zeros' signs and limits included, but for 2 ulp where the value is an ordinary one."""
    ordinary = np.isfinite(wanted) & (wanted != 0)
    with np.errstate(invalid="ignore", over="ignore"):
        close = ordinary & (np.abs(got - wanted) <= 2 * np.spacing(np.abs(wanted)))
    same = (np.isnan(got) & np.isnan(wanted)) | ((got == wanted) & (np.signbit(got) == np.signbit(wanted)))
    wrong = np.flatnonzero(~(same | close))
    assert not wrong.size, [tuple(float(each[i]) for each in (*operands, got, wanted)) for i in wrong[:5]]


LIMITS_OF = {
    "expit": [(0.0, 0.5), (-0.0, 0.5), (np.inf, 1.0), (-np.inf, 0.0), (np.nan, np.nan)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (np.inf, 1.0), (-np.inf, -1.0), (np.nan, np.nan)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (np.inf, 0.0), (-np.inf, 2.0), (np.nan, np.nan)],
    "lgamma": [
        *((0.0, np.inf), (1.0, 0.0), (2.0, 0.0), (-3.0, np.inf), (-np.inf, np.inf), (np.nan, np.nan)),
        *((-3e38, np.inf), (-1e30, np.inf)),
    ],
    "digamma": [(0.0, -np.inf), (-0.0, np.inf), (-1.0, np.nan), (np.inf, np.inf), (-np.inf, np.nan)],
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1.0, np.inf), (-1.0, -np.inf), (2.0, np.nan), (np.nan, np.nan)],
}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", UNARY)
def test_special_values(name, scalar):
    if name in LIMITS_OF:
        x, wanted = (np.array(each, SCALARS[scalar]) for each in zip(*LIMITS_OF[name], strict=True))
    else:
        x = specials(SCALARS[scalar])
        wanted = wide(name, scalar, x).astype(x.dtype)
    assert_alike(widest(name, scalar)(x), wanted, x)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", BINARY)
def test_special_pairs(name, scalar):
    values = specials(SCALARS[scalar])
    x, y = (each.ravel() for each in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x, y)
    if name.startswith("logadd"):  # elsewhere a difference of nearly equal numbers
        kept = (np.abs(wanted) > 1) | ~np.isfinite(wanted) | (wanted == 0)
        x, y, wanted = x[kept], y[kept], wanted[kept]
    assert_alike(widest(name, scalar)(x, y), wanted, x, y)


# -- lanes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize(
    ("name", "lanes"),
    [
        *((name, lanes) for name in ("log", "sin", "tan", "power") for lanes in (1, 2, 3, 4, 32)),
        # One instruction of AVX-512 is for whole registers: parts of one, and odd numbers of them.
        *((name, lanes) for name in ("exp", "exp2", "expit") for lanes in (1, 2, 3, 4, 24, 32, 48)),
    ],
)
def test_lanes_do_not_matter(name, lanes, scalar):
    x = np.concatenate([specials(SCALARS[scalar]), interesting(scalar, 8)])
    operands = (x, x[::-1].copy())[: 2 if name in BINARY else 1]
    np.testing.assert_array_equal(native(name, scalar, lanes)(*operands), widest(name, scalar)(*operands))


@examples(200)
@given(
    st.floats(allow_nan=False), st.sampled_from(["tanh", "expm1", "sin", "arctan", "erf", "cbrt", "arcsinh"])
)
def test_symmetry(number, name):
    x = np.array([number, -number])
    got = native(name, "double", 8)(x)
    if name == "expm1":
        assert got[0] * got[1] <= 0 or np.isnan(got).any()
    else:
        np.testing.assert_array_equal(got[0], -got[1])


# -- the text --------------------------------------------------------------------------------------------------


def test_definitions_come_once():
    kind = Kind("float", 8)
    text, declarations = mathlib.definitions([("sin", kind), ("cos", kind), ("sin", kind)])
    assert text.count("define internal <8 x float> @wengert.sin.v8f32(") == 1
    assert text.count("define internal { double, double, i64 } @wengert.remainder(") == 1
    assert all(line.startswith("declare ") and "@llvm." in line for line in declarations)


def test_support():
    assert mathlib.supports("exp", Kind("double"))
    assert not mathlib.supports("exp", Kind("i64", 4))
    with pytest.raises(KeyError, match="no elementary function"):
        mathlib.definitions([("gamma", Kind("double"))])

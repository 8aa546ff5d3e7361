"""Common parts of the distributions of one variable: arguments, location and scale, supports, logarithms, draws.

A family states its standard form, of location 0 and scale 1, by functions of points and shape parameters. The classes
here shift and scale it, and choose the values outside of its support. A stated function gets points of the support
alone, so its derivatives are finite there. Results are float64, as SciPy's are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import SUBSTITUTES
from wengert.engine.boxes import Box
from wengert.engine.core.errors import ArgumentError, DtypeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import floor, minimum
from wengert.engine.ops.comparison import (
    equal,
    greater,
    isinf,
    less,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp, log, log1p, sqrt
from wengert.engine.ops.random import UINT64
from wengert.engine.ops.shape import broadcast_to
from wengert.engine.ops.special.compositions import log1mexp
from wengert.numpy.registry import is_box
from wengert.random import uniform
from wengert.random.keys import shape_for
from wengert.scipy.registry import doubles

Rule = Callable[..., Any]
INFINITY = float("inf")
#: Half of the distance of the generator's numbers, and the largest number below 1.
_HALF_STEP, _LARGEST = 2.0**-54, 1 - 2.0**-53


def is_known(condition: Any) -> bool:
    """Return whether a condition is known to hold everywhere."""
    return not isinstance(condition, Box) and bool(np.all(condition))


def all_of(*conditions: Any) -> Any:
    """Return whether all conditions hold, True if they are known to."""
    result: Any = True
    for condition in conditions:
        if not is_known(condition):
            result = condition if result is True else logical_and(result, condition)
    return result


def only_if(condition: Any, value: Any) -> Any:
    """Return a value, NaN where a condition on the parameters does not hold."""
    return value if is_known(condition) else where(condition, value, np.nan)


def positive(*shapes: Any) -> Any:
    """Return whether all shape parameters are positive."""
    return all_of(*(greater(shape, 0.0) for shape in shapes))


def log_of_tail(exponent: Any) -> Any:
    """Return ``ln(1 - exp(-e^exponent))``, also where the power underflows."""
    is_small = less(exponent, -40.0)
    return where(is_small, exponent, log1mexp(-exp(where(is_small, 0.0, exponent))))


def from_end(z: Any, exponent: Any, density: Rule, end: float = 0.0, flat: Any = None) -> Any:
    """Return a log-density that behaves like ``|z - end|^exponent``: at the end it is -+inf, with derivatives 0.

    Where the exponent is 0, it is the log-density itself. If that is not finite there, ``flat`` is its formula for this
    exponent, whose derivative in the exponent counts as 0, as that of `xlogy` at 0.
    """
    is_end, is_zero = equal(z, end), equal(exponent, 0.0)
    at_end = where(greater(exponent, 0.0), -INFINITY, INFINITY)
    if flat is None:
        is_infinite = logical_and(is_end, logical_not(is_zero))
        return where(is_infinite, at_end, density(where(is_infinite, 0.5, z)))
    is_flat = logical_and(is_end, is_zero)
    at_end = where(is_flat, flat(where(is_flat, z, 0.5)), at_end)
    return where(is_end, at_end, density(where(is_end, 0.5, z)))


def _logarithm(probability: Rule, complement: Rule) -> Rule:
    """Return the logarithm of a probability, by the complement where the probability is near 1."""

    def rule(z: Any, *shapes: Any) -> Any:
        p, q = probability(z, *shapes), complement(z, *shapes)
        is_small = less(p, 0.5)
        return where(is_small, log(where(is_small, p, 1.0)), log1p(-where(is_small, 0.0, q)))

    return rule


#: The rules of every family, besides its density.
_REQUIRED = ("cdf", "sf", "ppf", "mean", "var", "entropy")


def _always(value: Any) -> Rule:
    return lambda *shapes: value


class Family:
    """A family of distributions under the name that SciPy gives it."""

    name: str
    #: The functions with one argument before the parameters, and those of the parameters alone.
    of_points: tuple[str, ...]
    of_parameters: tuple[str, ...]
    #: Whether `dir` lists it.
    is_listed = True

    def _enter(self) -> None:
        """Enter the family and its functions as substitutes for SciPy's."""
        self.functions = self.of_points + self.of_parameters
        SUBSTITUTES[f"scipy.stats.{self.name}"] = self
        SUBSTITUTES.update({f"scipy.stats.{self.name}.{f}": getattr(self, f) for f in self.functions})

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        """Return the distribution with these parameters."""
        return Frozen(self, args, kwds)

    def __repr__(self) -> str:
        return f"<wengert.scipy.stats.{self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Return a function of SciPy's that Wengert does not follow, such as ``fit``.

        Formulas of SciPy's other families take the rules by their private names there, such as ``_logpdf``.
        """
        if name.startswith("_"):
            rules: dict[str, Any] = vars(self).get("_rules", {})
            if (rule := rules.get(name[1:])) is not None:
                return rule if callable(rule) else _always(rule)
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}", name=name, obj=self)
        from scipy import stats

        return getattr(getattr(stats, self.name), name)


class Distribution(Family):
    """A family of distributions under the name, the parameters and the functions that SciPy gives it.

    Its functions take points or probabilities, then the shape parameters, the location and the scale, which broadcast,
    by position or by name. They return float64 of the common shape, NaN where a parameter is not allowed.

    Args:
        name: SciPy's name.
        doc: what it is, with the equation.
        shapes: the names of the shape parameters.
        support: the ends of the support of the standard form; an end may be a function of the shape parameters.
        inside: a point of the support, or a function of the shape parameters.
        valid: whether shape parameters are allowed.
        is_symmetric: whether the standard form is symmetric about 0.
        **rules: functions of points and shape parameters (``cdf sf logcdf logsf ppf isf``), and of shape parameters
            (``mean var entropy``); ``draw(key, shape, *shapes)`` where the quantile of a uniform number does not serve.

    Example:
        >>> from wengert.scipy.stats import expon, gumbel_r, norm, uniform
        >>> print(f"{norm.cdf(1.96):.4f} {norm.ppf(0.975):.4f} {norm.sf(10.0):.4g} {norm.isf(1e-30):.4f}")
        0.9750 1.9600 7.62e-24 11.4640
        >>> print(f"{norm.logcdf(-100.0):.4f}", expon.logsf(2000.0))
        -5005.5242 -2000.0
        >>> print(f"{expon.median(scale=2.0):.4f}", *(f"{end:.2f}" for end in norm.interval(0.95, loc=1.0)))
        1.3863 -0.96 2.96
        >>> print(*uniform.support(1.0, 2.0), f"{gumbel_r.mean(loc=1.0):.4f} {uniform.var(scale=6.0):.1f}")
        1.0 3.0 1.5772 3.0
        >>> print(norm.std(scale=3.0), f"{expon.entropy(scale=2.0):.4f}")
        3.0 1.6931
    """

    #: The names of parameters after the shapes.
    placed: tuple[str, ...] = ("loc", "scale")
    #: The rule of its density, or of its probabilities.
    _stated = "logpdf"
    of_points = ("cdf", "logcdf", "sf", "logsf", "ppf", "isf", "interval")
    of_parameters = ("median", "support", "mean", "var", "std", "entropy", "rvs")

    def __init__(
        self,
        name: str,
        doc: str,
        shapes: tuple[str, ...] = (),
        support: tuple[Any, Any] = (-INFINITY, INFINITY),
        inside: Any = 0.0,
        valid: Rule = positive,
        is_symmetric: bool = False,
        **rules: Any,
    ) -> None:
        self.name = name
        self.__doc__ = doc
        self.shapes = shapes
        self._support, self._inside, self._valid = support, inside, valid
        self._rules: dict[str, Any] = rules
        if is_symmetric:
            cdf, logcdf, ppf = rules["cdf"], rules.get("logcdf"), rules["ppf"]
            rules["sf"] = lambda z, *shapes: cdf(-z, *shapes)
            rules["isf"] = lambda q, *shapes: -ppf(q, *shapes)
            if logcdf is not None:
                rules["logsf"] = lambda z, *shapes: logcdf(-z, *shapes)
        self._check_rules([rule for rule in (self._stated, *_REQUIRED) if rule not in rules])
        if "ppf" in rules:
            rules.setdefault("isf", lambda q, *shapes: rules["ppf"](1.0 - q, *shapes))
        if "cdf" in rules:
            rules.setdefault("logcdf", _logarithm(rules["cdf"], rules["sf"]))
            rules.setdefault("logsf", _logarithm(rules["sf"], rules["cdf"]))
        self._enter()

    def _check_rules(self, missing: list[str]) -> None:
        """Raise `TypeError` if rules are missing."""
        if missing:
            raise TypeError(f"scipy.stats.{self.name}: state a rule for {', '.join(missing)}")

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        """Return the distribution with these parameters."""
        self._parameters("frozen", args, kwds)
        return super().__call__(*args, **kwds)

    # -- arguments ---------------------------------------------------------------------------------------

    def _parameters(
        self, function: str, args: tuple[Any, ...], kwds: dict[str, Any]
    ) -> tuple[list[Any], Any, Any]:
        """Return the shape parameters, the location and the scale; None for those that are not given."""
        names = (*self.shapes, *self.placed)
        parameters = dict(zip(names, args, strict=False))
        wrong = [name for name in kwds if name not in names or name in parameters]
        parameters.update(kwds)
        if len(args) > len(names) or wrong or any(name not in parameters for name in self.shapes):
            got = ", ".join([*map(show, args), *(f"{name}={show(value)}" for name, value in kwds.items())])
            requirement = f"the parameters are {', '.join(names)}"
            raise ArgumentError(message(f"scipy.stats.{self.name}.{function}", requirement, got or "none"))
        values = {name: doubles(value) for name, value in parameters.items()}
        return [values[name] for name in self.shapes], values.get("loc"), values.get("scale")

    def _allowed(self, shapes: list[Any], scale: Any) -> Any:
        """Return whether the parameters are allowed."""
        return all_of(self._valid(*shapes), True if scale is None else greater(scale, 0.0))

    def _ends(self, shapes: list[Any]) -> tuple[Any, Any]:
        """Return the ends of the support of the standard form."""
        low, high = (end(*shapes) if callable(end) else end for end in self._support)
        return low, high

    def _safe(self, outside: Any, z: Any, shapes: list[Any]) -> Any:
        """Return points with one of the support in place of those outside."""
        return where(outside, self._inside(*shapes) if callable(self._inside) else self._inside, z)

    def _probability(
        self, function: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any], left: float, right: float
    ) -> Any:
        """Evaluate a function of distribution, which is constant beyond the ends of the support."""
        shapes, loc, scale = self._parameters(function, args, kwds)
        z = self._located(_standard(x, loc, scale))
        low, high = self._steps(shapes)
        before, after = less(z, low) | equal(z, low), greater(z, high) | equal(z, high)
        safe = self._safe(logical_or(before, after), z, shapes)
        value = where(before, left, where(after, right, self._rules[function](safe, *shapes)))
        return only_if(self._allowed(shapes, scale), value)

    def _located(self, z: Any) -> Any:
        """Return the points at which a function of distribution changes."""
        return z

    def _steps(self, shapes: list[Any]) -> tuple[Any, Any]:
        """Return the largest point with ``cdf = 0`` and the smallest with ``cdf = 1``: the quantiles of 0 and 1."""
        return self._ends(shapes)

    # -- functions of distribution -----------------------------------------------------------------------

    def cdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the distribution function ``P(X <= x)``."""
        return self._probability("cdf", x, args, kwds, 0.0, 1.0)

    def sf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the survival function ``P(X > x)``, to full accuracy where it is small."""
        return self._probability("sf", x, args, kwds, 1.0, 0.0)

    def logcdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the logarithm of the distribution function."""
        return self._probability("logcdf", x, args, kwds, -INFINITY, 0.0)

    def logsf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the logarithm of the survival function."""
        return self._probability("logsf", x, args, kwds, 0.0, -INFINITY)

    def _quantile(self, function: str, q: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        shapes, loc, scale = self._parameters(function, args, kwds)
        q = doubles(q)
        low, high = self._steps(shapes)
        first, last = (low, high) if function == "ppf" else (high, low)
        is_inner = logical_and(greater(q, 0.0), less(q, 1.0))
        z = self._rules[function](where(is_inner, q, 0.5), *shapes)
        z = where(is_inner, z, where(equal(q, 0.0), first, where(equal(q, 1.0), last, np.nan)))
        return only_if(self._allowed(shapes, scale), _placed(z, loc, scale))

    def ppf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """Return the quantile: the smallest x with ``cdf(x) >= q``."""
        return self._quantile("ppf", q, args, kwds)

    def isf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """Return the x with ``sf(x) = q``."""
        return self._quantile("isf", q, args, kwds)

    def median(self, *args: Any, **kwds: Any) -> Any:
        """Return the median."""
        return self.ppf(0.5, *args, **kwds)

    def interval(self, confidence: Any, *args: Any, **kwds: Any) -> tuple[Any, Any]:
        """Return the ends of the interval about the median that has a given probability."""
        half = 0.5 * doubles(confidence)
        return self.ppf(0.5 - half, *args, **kwds), self.ppf(0.5 + half, *args, **kwds)

    def support(self, *args: Any, **kwds: Any) -> tuple[Any, Any]:
        """Return the ends of the support."""
        shapes, loc, scale = self._parameters("support", args, kwds)
        is_allowed = self._allowed(shapes, scale)
        low, high = (only_if(is_allowed, _placed(doubles(end), loc, scale)) for end in self._ends(shapes))
        return low, high

    # -- moments -----------------------------------------------------------------------------------------

    def _moment(self, function: str, args: tuple[Any, ...], kwds: dict[str, Any], place: Rule) -> Any:
        shapes, loc, scale = self._parameters(function, args, kwds)
        rule = self._rules["var" if function == "std" else function]
        value = place(doubles(rule(*shapes) if callable(rule) else rule), loc, scale)
        shape = broadcast(function, *(shape_of(x) for x in (*shapes, loc, scale) if x is not None))
        value = value if shape_of(value) == shape else broadcast_to(value, shape=shape)
        return only_if(self._allowed(shapes, scale), value)

    def mean(self, *args: Any, **kwds: Any) -> Any:
        """Return the mean."""
        return self._moment("mean", args, kwds, _placed)

    def var(self, *args: Any, **kwds: Any) -> Any:
        """Return the variance."""
        return self._moment(
            "var", args, kwds, lambda v, loc, scale: v if scale is None else scale * scale * v
        )

    def std(self, *args: Any, **kwds: Any) -> Any:
        """Return the standard deviation."""
        return self._moment(
            "std", args, kwds, lambda v, loc, scale: sqrt(v) if scale is None else scale * sqrt(v)
        )

    def entropy(self, *args: Any, **kwds: Any) -> Any:
        """Return the entropy ``-E ln f(X)``, in nats."""
        return self._moment(
            "entropy", args, kwds, lambda h, loc, scale: h if scale is None else h + log(scale)
        )

    # -- draws -------------------------------------------------------------------------------------------

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **kwds: Any) -> Any:
        """Draw numbers from a key, with the derivatives of the draws in the parameters.

        A draw is the quantile of a uniform number u. At fixed u its derivative in a parameter a is ``-(dF/da) / f(x)``
        (implicit reparameterisation: Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", 2018). Draws
        of discrete distributions have the derivative 0.

        ``random_state``: a key of `wengert.random`, which gives the same draws in every mode of execution. For plain
        parameters it may be one of SciPy's random states, with which SciPy draws.

        Raises:
            DtypeError: ``random_state`` is not a key, and a parameter is a value inside a transform.

        Example:
            >>> import numpy as np
            >>> from wengert.random import key
            >>> from wengert.scipy.stats import laplace
            >>> print(f"{np.std(laplace.rvs(scale=2.0, size=100_000, random_state=key(0))):.1f}")
            2.8
        """
        count = len(self.shapes) + len(self.placed)
        size, random_state = [*args[count:], *(size, random_state)[len(args[count:]) :]]
        if theirs := scipys_draws(self.name, random_state, *args[:count], *kwds.values()):
            return theirs(*args[:count], size=size, random_state=random_state, **kwds)
        shapes, loc, scale = self._parameters("rvs", args[:count], kwds)
        check_key(f"scipy.stats.{self.name}.rvs", random_state)
        shape = shape_for("rvs", size, *(x for x in (*shapes, loc, scale) if x is not None))
        drawn = self._drawn(random_state, shape, shapes)
        return only_if(self._allowed(shapes, scale), _placed(drawn, loc, scale))

    def _drawn(self, key: Any, shape: tuple[int, ...], shapes: list[Any]) -> Any:
        draw = self._rules.get("draw")
        return draw(key, shape, *shapes) if draw else self._rules["ppf"](open_uniform(key, shape), *shapes)


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    """Return ``(x - loc) / scale``."""
    z = doubles(x)
    z = z if loc is None else z - loc
    return z if scale is None else z / scale


def _placed(z: Any, loc: Any, scale: Any) -> Any:
    """Return ``loc + scale z``."""
    z = z if scale is None else scale * z
    return z if loc is None else loc + z


def open_uniform(key: Any, shape: tuple[int, ...]) -> Any:
    """Draw from the uniform distribution between 0 and 1 without both, which have infinite quantiles."""
    return minimum(uniform(key, shape) + _HALF_STEP, _LARGEST)


def scipys_draws(family: str, key: Any, *parameters: Any) -> Any:
    """Return SciPy's function that draws, for a random state that is not a key and plain parameters; otherwise None."""
    if _is_key(key) or any(is_box(parameter) for parameter in parameters):
        return None
    from scipy import stats

    return getattr(stats, family).rvs


def _is_key(key: Any) -> bool:
    return getattr(key, "dtype", None) == UINT64


def check_key(operation: str, key: Any) -> None:
    """Raise `DtypeError` for a random state that is not a key."""
    if not _is_key(key):
        hint = (
            "pass random_state=wg.random.key(seed): a draw then is the same in every mode, with derivatives"
        )
        got = "None" if key is None else type(key).__name__
        raise DtypeError(message(operation, "random_state must be a key of wengert.random", got, hint))


class Continuous(Distribution):
    """A family of continuous distributions, stated by its log-density ``logpdf(z, *shapes)`` and other rules.

    Example:
        >>> import wengert as wg
        >>> from wengert.scipy.stats import norm
        >>> print(wg.grad(norm.logpdf, argnums=(0, 1, 2))(2.0, 0.0, 1.0), f"{norm.pdf(0.0):.4f}")
        (-2.0, 2.0, 3.0) 0.3989
    """

    of_points = ("pdf", "logpdf", *Distribution.of_points)

    def logpdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the logarithm of the density, -inf outside of the support, where the derivatives are 0."""
        return self._density("logpdf", x, args, kwds)

    def _density(self, function: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        shapes, loc, scale = self._parameters(function, args, kwds)
        z = _standard(x, loc, scale)
        outside = isinf(z)
        for end, beyond in zip(self._ends(shapes), (less, greater), strict=True):
            if not (isinstance(end, float) and abs(end) == INFINITY):
                outside = logical_or(outside, beyond(z, end))
        density = self._rules["logpdf"](self._safe(outside, z, shapes), *shapes)
        density = density if scale is None else density - log(scale)
        return only_if(self._allowed(shapes, scale), where(outside, -INFINITY, density))

    def pdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the density, 0 outside of the support."""
        return exp(self._density("pdf", x, args, kwds))


class Discrete(Distribution):
    """A family of distributions on integers, stated by its log-probabilities ``logpmf(k, *shapes)`` and other rules.

    Between integers the probability is 0 and the distribution function constant, so derivatives in k are 0.

    Example:
        >>> import wengert as wg
        >>> from wengert.scipy.stats import poisson
        >>> print(wg.grad(poisson.logpmf, argnums=1)(3, 2.0), f"{poisson.pmf(0, 1.0):.4f}")  # k / mu - 1
        0.5 0.3679
    """

    _stated = "logpmf"
    placed = ("loc",)
    of_points = ("pmf", "logpmf", *Distribution.of_points)

    def _located(self, z: Any) -> Any:
        return floor(z)

    def _steps(self, shapes: list[Any]) -> tuple[Any, Any]:
        low, high = self._ends(shapes)
        return low - 1.0, high

    def logpmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """Return the logarithm of the probability of k, -inf where that is 0; the derivative in k is 0."""
        return self._mass("logpmf", k, args, kwds)

    def _mass(self, function: str, k: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        shapes, loc, scale = self._parameters(function, args, kwds)
        z = stop_gradient(_standard(k, loc, scale))
        low, high = self._ends(shapes)
        outside = logical_or(logical_or(less(z, low), greater(z, high)), isinf(z))
        outside = logical_or(outside, logical_and(equal(z, z), not_equal(z, floor(z))))
        value = self._rules["logpmf"](self._safe(outside, z, shapes), *shapes)
        return only_if(self._allowed(shapes, scale), where(outside, -INFINITY, value))

    def pmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """Return the probability of k, 0 between the integers of the support."""
        return exp(self._mass("pmf", k, args, kwds))


class Frozen:
    """A distribution with its parameters: its functions take the remaining arguments alone.

    Args:
        family: the family.
        args: the shape parameters, the location and the scale.
        kwds: the same by name.

    Example:
        >>> from wengert.scipy.stats import norm
        >>> print(f"{norm(1.0, 2.0).logpdf(1.0):.4f}")
        -1.6121
    """

    def __init__(self, family: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist = family
        self.args = args
        self.kwds = kwds

    def __repr__(self) -> str:
        return f"<frozen {self.dist!r}>"

    def __getattr__(self, name: str) -> Any:
        """Return a function of the family with the parameters put in."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}", name=name, obj=self)
        family = self.dist
        if name in getattr(family, "attributes", ()):
            return getattr(family, name)(*self.args, **self.kwds)
        if name in family.of_points:
            return lambda x: getattr(family, name)(x, *self.args, **self.kwds)  # pyright: ignore[reportUnknownVariableType]
        if name in family.of_parameters:  # `rvs` has a size and a random state
            return lambda **options: getattr(family, name)(*self.args, **self.kwds, **options)  # pyright: ignore[reportUnknownVariableType]
        from scipy import stats

        return getattr(getattr(stats, family.name)(*self.args, **self.kwds), name)

    def __dir__(self) -> list[str]:
        return sorted(self.dist.functions)

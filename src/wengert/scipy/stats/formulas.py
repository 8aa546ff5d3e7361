"""Families of distributions by SciPy's own formulas.

A family of SciPy's states some functions of its standard form as private methods: ``_logpdf``, ``_cdf``, ``_stats`` and
others. They run here on boxes, as copies that call Wengert's functions. A function that a family does not state comes
from the others: a survival function from the distribution function, a quantile as the solution of an equation.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import SUBSTITUTES
from wengert.engine.core import tree
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ops.comparison import equal, isfinite, logical_or, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp, log
from wengert.engine.ops.shape import broadcast_to, reshape
from wengert.engine.transforms.substitution import of_library
from wengert.scipy import choices
from wengert.scipy.registry import doubles
from wengert.scipy.stats.base import INFINITY, Continuous, Discrete, Distribution, Rule, only_if, positive
from wengert.scipy.stats.densities import FORMULAS
from wengert.scipy.stats.inverses import quantile

#: The methods of SciPy's that have no copy: they need its C code, a loop over elements, or known numbers.
_LEFT_OUT = {
    "argus": "_stats",
    "cosine": "_ppf _isf",
    "dpareto_lognorm": "_munp _stats",
    "erlang": "_argcheck",
    "fisk": "_stats _munp",
    "genhyperbolic": "_cdf _sf",
    "geninvgauss": "_cdf",
    "gompertz": "_entropy",
    "hypergeom": "_cdf _sf _logcdf _logsf _stats _entropy",
    "invgauss": "_ppf _isf _entropy",
    "jf_skew_t": "_munp",
    "kappa4": "_stats",
    "kappa3": "_sf _stats",
    "loguniform": "_munp",
    "lomax": "_stats",
    "ncf": "_isf _stats",
    "nct": "_isf _stats",
    "ncx2": "_cdf _sf _ppf _isf",
    "norminvgauss": "_sf _ppf _isf",
    "reciprocal": "_munp",
    "rice": "_cdf _sf _ppf _isf",
    "skewnorm": "_cdf _sf _ppf _isf",
    "tukeylambda": "_stats _entropy",
    "truncpareto": "_logpdf _logcdf _logsf",
    "vonmises_line": "_cdf _ppf _stats",
    "wald": "_entropy",
    "weibull_max": "_munp",
}
#: The families that have no density that can be followed: for the same reasons, or their parameters are vectors.
_NAMES = """ksone kstwo landau levy_stable nchypergeom_fisher nchypergeom_wallenius poisson_binom studentized_range"""
_UNFOLLOWED = frozenset(_NAMES.split())


class _Formulas:
    """Stands for a family of SciPy's in copies of its methods: it has copies of all of them.

    What the general class of SciPy's distributions computes from other functions comes from these copies as well.
    """

    def __init__(self, family: Any) -> None:
        self._family = family
        self._left_out = _LEFT_OUT.get(family.name, "").split()
        self._own: Mapping[str, Rule] = FORMULAS.get(family.name, {})

    def states(self, name: str) -> bool:
        """Return whether the family itself states a method that can be copied, or there is a formula for it."""
        return name in self._own or (name not in self._left_out and _is_own(self._stated(name)[0]))

    def _stated(self, name: str) -> tuple[Any, Any]:
        """Return the class that states a method, and the method."""
        kinds = type(self._family).__mro__
        return next(((kind, vars(kind)[name]) for kind in kinds if name in vars(kind)), (None, None))

    def method(self, name: str) -> Any:
        """Return a method as SciPy has it."""
        return getattr(self._family, name)

    def __getattr__(self, name: str) -> Any:
        if name in self._own:
            return self._own[name]
        kind, method = self._stated(name)
        if isinstance(method, staticmethod):
            return of_library(method.__func__)
        if not isinstance(method, FunctionType):
            return getattr(self._family, name)
        if name in _GENERAL and (name in self._left_out or not _is_own(kind)):
            return MethodType(_GENERAL[name], self)
        return MethodType(of_library(method), self)


def _is_own(kind: Any) -> bool:
    """Return whether a class is that of a family, and not the general one of all distributions."""
    return kind is not None and not kind.__module__.endswith("_distn_infrastructure")


#: What the general class computes, given a family's own functions.
_GENERAL: dict[str, Callable[..., Any]] = {
    "_pdf": lambda own, *args: exp(own._logpdf(*args)),
    "_logpdf": lambda own, *args: log(own._pdf(*args)),
    "_pmf": lambda own, *args: exp(own._logpmf(*args)),
    "_logpmf": lambda own, *args: log(own._pmf(*args)),
    "_cdf": lambda own, *args: 1.0 - own._sf(*args),
    "_sf": lambda own, *args: 1.0 - own._cdf(*args),
    "_logcdf": lambda own, *args: log(own._cdf(*args)),
    "_logsf": lambda own, *args: log(own._sf(*args)),
}


def _called(formulas: _Formulas, name: str) -> Rule:
    """Return a method of a family as a rule.

    SciPy calls it with arrays that have an axis, and its formulas warn of elements that SciPy leaves out.
    """

    def rule(*args: Any, **options: Any) -> Any:
        shape = broadcast(name, *map(shape_of, args))

        def flat(x: Any) -> Any:  # the order of a moment is a number
            whole = isinstance(x, int)
            return x if whole else reshape(broadcast_to(x, shape=shape), shape=(math.prod(shape),))

        with np.errstate(all="ignore"):
            result = getattr(formulas, name)(*map(flat, args), **options)
        result = tree.map_tree(lambda x: reshape(x, shape=shape) if shape_of(x) else x, result)
        # Of a point that is NaN, a formula of pieces may give a number.
        return result if name in ("_stats", "_munp", "_entropy") else only_if(equal(args[0], args[0]), result)

    return rule


def _first(formulas: _Formulas, *names: str) -> Rule | None:
    """Return the first of some methods that a family states."""
    return next((_called(formulas, name) for name in names if formulas.states(name)), None)


def _rules(formulas: _Formulas, density: str) -> dict[str, Rule]:
    """Return the rules of a family: those that it states, and those that follow from them."""
    rules: dict[str, Rule] = {}

    def state(name: str, *rule: Rule | None) -> None:
        found = next((one for one in rule if one is not None), None)
        if found is not None:
            rules[name] = found

    if _first(formulas, f"_{density}", f"_log{density}"):
        state(f"log{density}", _called(formulas, f"_log{density}"))
    if _first(formulas, "_cdf", "_sf"):
        state("cdf", _called(formulas, "_cdf"))
        state("sf", _called(formulas, "_sf"))
        state("logcdf", _first(formulas, "_logcdf"))
        state("logsf", _first(formulas, "_logsf"))
    ppf, isf = _first(formulas, "_ppf"), _first(formulas, "_isf")
    state("ppf", ppf, isf and (lambda q, *shapes: isf(1.0 - q, *shapes)))
    state("isf", isf, ppf and (lambda q, *shapes: ppf(1.0 - q, *shapes)))
    state("entropy", _first(formulas, "_entropy"))
    for place, name in enumerate(("mean", "var")):
        state(name, _moment(formulas, place))
    return rules


def _moment(formulas: _Formulas, place: int) -> Rule | None:
    """Return the rule of the mean (0) or of the variance (1) by ``_stats``, or by the moments about 0."""
    stated, moment = _first(formulas, "_stats"), _first(formulas, "_munp")
    if stated is None and moment is None:
        return None
    options: dict[str, str] = {}
    if stated and "moments" in inspect.signature(formulas.method("_stats")).parameters:
        options["moments"] = "mv"

    def rule(*shapes: Any) -> Any:
        found = stated(*shapes, **options)[place] if stated else None
        if found is not None or moment is None:
            return found
        mean = moment(1, *shapes)
        return moment(2, *shapes) - mean * mean if place else mean

    return rule


class _Stated(Distribution):
    """A family by SciPy's formulas; it lacks the functions for which SciPy has none that can be followed."""

    is_listed = False

    def __init__(self, family: Any, density: str) -> None:
        self._formulas = _Formulas(family)
        shapes = tuple(name.strip() for name in family.shapes.split(",")) if family.shapes else ()
        rules = _rules(self._formulas, density)
        if density == "pdf" and "ppf" not in rules and {"cdf", "logpdf"} <= rules.keys():
            for name, of in (("ppf", "cdf"), ("isf", "sf")):
                rules[name] = self._inverse(rules[of], rules["logpdf"], of == "cdf")
        has_own = self._formulas.states("_argcheck")
        super().__init__(
            family.name,
            f"SciPy's distribution `scipy.stats.{family.name}`, by its formulas.",
            shapes,
            support=self._ends_of_support(),
            inside=self._inner,
            valid=(lambda *shapes: self._formulas._argcheck(*shapes)) if has_own else positive,
            is_symmetric=False,
            **rules,
        )

    def _check_rules(self, missing: list[str]) -> None:
        """Leave functions without a rule to SciPy, which names what it cannot follow."""
        absent = {name for rule in missing for name in (rule, *_WITH.get(rule, ()))}
        for name in absent & {*self.of_points, *self.of_parameters}:
            vars(self)[name] = self._formulas.method(name)
        self.of_points = tuple(name for name in self.of_points if name not in absent)
        self.of_parameters = tuple(name for name in self.of_parameters if name not in absent)

    def _ends_of_support(self) -> tuple[Any, Any]:
        if self._formulas.states("_get_support"):
            return self._low, self._high
        return float(self._formulas.a), float(self._formulas.b)

    def _low(self, *shapes: Any) -> Any:
        return self._end(0, shapes)

    def _high(self, *shapes: Any) -> Any:
        return self._end(1, shapes)

    def _end(self, place: int, shapes: tuple[Any, ...]) -> Any:
        stated = self._support[place]
        return doubles(self._formulas._get_support(*shapes)[place] if callable(stated) else stated)

    def _inner(self, *shapes: Any) -> Any:
        """Return a point of the support, away from its middle, where some densities have a kink."""
        low, high = (self._end(place, shapes) for place in (0, 1))
        has_low, has_high = isfinite(low), isfinite(high)
        near = where(has_low, low, 0.0)
        beside = where(has_low, near + 0.7, where(has_high, where(has_high, high, 0.0) - 0.7, 0.3))
        span = where(has_high, where(has_high, high, 0.0) - near, 1.0)
        return stop_gradient(where(has_low & has_high, near + 0.37 * span, beside))

    def _inverse(self, function: Rule, logpdf: Rule, rises: bool) -> Rule:
        def rule(q: Any, *shapes: Any) -> Any:
            ends = self._end(0, shapes), self._end(1, shapes)
            return quantile(
                q, shapes, function, lambda z, *s: exp(logpdf(z, *s)), ends, self._inner(*shapes), rises
            )

        return rule


#: The functions that need the rule of another one.
_WITH = {
    "logpdf": ("pdf",),
    "logpmf": ("pmf",),
    "cdf": ("logcdf", "logsf"),
    "ppf": ("isf", "interval", "median", "rvs"),
    "var": ("std",),
}


class _ContinuousByFormulas(_Stated, Continuous):
    """A continuous family by SciPy's formulas."""

    def __init__(self, family: Any) -> None:
        super().__init__(family, "pdf")
        density = self._rules.get("logpdf")
        if density is None:
            return
        mask = getattr(type(family), "_support_mask", None)
        has_no_ends = mask is getattr(
            type(family), "_open_support_mask", None
        )  # SciPy's density is 0 at the ends

        def logpdf(z: Any, *shapes: Any) -> Any:
            if self._support == (-INFINITY, INFINITY):
                return density(z, *shapes)
            low, high = self._ends(list(shapes))
            is_end = logical_or(equal(z, low), equal(z, high))
            # The formula at an end of the support may be infinite, and its derivative NaN.
            if has_no_ends:
                at_end = -INFINITY
            else:
                at_end = stop_gradient(density(*map(stop_gradient, (z, *shapes))))
                at_end = where(equal(at_end, at_end), at_end, -INFINITY)  # rounding may put it beyond itself
            return where(is_end, at_end, density(self._safe(is_end, z, list(shapes)), *shapes))

        self._rules["logpdf"] = logpdf


class _DiscreteByFormulas(_Stated, Discrete):
    """A discrete family by SciPy's formulas: they hold at whole numbers."""

    def __init__(self, family: Any) -> None:
        super().__init__(family, "pmf")
        for name in ("ppf", "isf"):
            if name in self._rules:
                self._rules[name] = self._whole(self._rules[name])

    @staticmethod
    def _whole(rule: Rule) -> Rule:
        def whole(q: Any, *shapes: Any) -> Any:
            return stop_gradient(rule(q, *shapes))

        return whole


def enter() -> None:
    """Enter the families that SciPy has and Wengert does not state, when SciPy's are loaded."""
    theirs = sys.modules.get("scipy.stats")
    if theirs is None or _entered:
        return
    _entered.append(True)
    choices.enter()
    for name in dir(theirs):
        family = getattr(theirs, name)
        if name in _UNFOLLOWED or f"scipy.stats.{name}" in SUBSTITUTES:
            continue
        if isinstance(family, theirs.rv_continuous):
            _ContinuousByFormulas(family)
        elif isinstance(family, theirs.rv_discrete):
            _DiscreteByFormulas(family)


_entered: list[bool] = []

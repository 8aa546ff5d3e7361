"""SciPy's distributions and methods without a rule: the error names them and says what to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import WengertError
from wengert.scipy import stats as own
from wengert.scipy.stats import formulas

stats: Any = pytest.importorskip("scipy.stats")
MODES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "grad": lambda f: wg.grad(f)(0.5),
    "forward": lambda f: wg.jvp(f, (0.5,), (1.0,)),
    "jit": lambda f: wg.jit(f)(0.5),
    "vmap": lambda f: wg.vmap(f)(np.array([0.5])),
}
#: The parameter of `poisson_binom` is a vector.
FAMILIES = [name for name in sorted(formulas._UNFOLLOWED) if name != "poisson_binom"]


def _refused(mode: str, function: Callable[[Any], Any], name: str, remedy: str) -> None:
    with pytest.raises(WengertError, match=re.escape(f"no rule for scipy.stats.{name}:")) as caught:
        MODES[mode](function)
    assert remedy in str(caught.value)
    assert "test_other_distributions.py:" in str(caught.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_distribution_without_a_rule_is_named(name: str, mode: str) -> None:
    family = getattr(stats, name)
    shapes = [2.0] * family.numargs
    for method in ("logpdf" if isinstance(family, stats.rv_continuous) else "logpmf", "cdf", "ppf", "sf"):
        called = f"{name}.{method}"
        _refused(mode, lambda x, method=method: getattr(family, method)(x, *shapes), called, "halfnorm")
        _refused(
            mode, lambda x, method=method: getattr(family(*shapes), method)(x), called, "write its formula"
        )


@pytest.mark.parametrize("mode", MODES)
def test_a_method_without_a_rule_is_named(mode: str) -> None:
    _refused(mode, lambda x: stats.gamma.moment(2, x), "gamma.moment", "entropy")
    _refused(mode, lambda x: stats.gamma(x).stats(), "gamma.stats", "entropy")
    _refused(mode, lambda x: stats.norm.expect(lambda t: t, loc=x), "norm.expect", "mean")
    if mode in ("jit", "vmap"):  # elsewhere SciPy's own sum has the derivative
        _refused(mode, lambda x: stats.poisson.expect(lambda k: k, (x,)), "poisson.expect", "logpmf")
    _refused(mode, lambda x: own.norm.fit(np.stack([x, x + 1.0])), "norm.fit", "logpdf")
    _refused(mode, lambda x: stats.multivariate_t.cdf(x), "multivariate_t.cdf", "")


def test_expectations_of_discrete_families() -> None:
    function = lambda x: stats.poisson.expect(lambda k: k * k, (x,))  # noqa: E731
    assert wg.value_and_grad(function)(2.5) == pytest.approx((8.75, 6.0), rel=1e-12)

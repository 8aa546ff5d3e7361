"""Ten posterior densities whose means are known: in closed form, or by integrals over what is left after exact steps.

The data are those of the papers and books that the models name. A density is written in NumPy, of unrestricted
parameters: logarithms and logits, with their Jacobians. The references use what the densities do not: conjugate
families, sums over change points, and the trapezoidal rule, which converges fast for smooth densities that vanish at
both ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

import wengert as wg
from wengert.fit.diagnostics import mean_ess


class Posterior(NamedTuple):
    """A density, and the means of quantities."""

    source: str
    logdensity: Callable[[Any], Any]
    start: Any
    quantities: Callable[[Any], dict[str, Any]]
    """Of the parameters of a draw; the table shows the first one."""
    reference: Callable[[], dict[str, float]]
    kind: str
    """How the reference is found."""
    target: float = 0.8
    draws: int = 2000


class Compared(NamedTuple):
    """The mean of a quantity of the draws beside the reference."""

    reference: float
    mean: float
    standard_error: float
    size: float
    """The effective number of draws, for the mean."""

    @property
    def error(self) -> float:
        """In standard errors."""
        return (self.mean - self.reference) / self.standard_error


def compared(posterior: Posterior, samples: wg.fit.Samples) -> dict[str, Compared]:
    """Compare the means of all quantities."""
    found, references = dict[str, Compared](), posterior.reference()
    for name, x in samples.map(posterior.quantities).draws.items():
        size = mean_ess(x)
        found[name] = Compared(references[name], float(np.mean(x)), float(np.std(x) / np.sqrt(size)), size)
    return found


def means(log_weights: Any, **values: Any) -> dict[str, float]:
    """Return means over a grid of points with weights."""
    weights = np.exp(log_weights - np.max(log_weights))
    return {name: float(np.sum(weights * x) / np.sum(weights)) for name, x in values.items()}


# -- a normal distribution, both parameters unknown ------------------------------------------------------

LIGHT = np.array(
    [
        28, 26, 33, 24, 34, -44, 27, 16, 40, -2, 29, 22, 24, 21, 25, 30, 23, 29, 31, 19, 24, 20, 36, 32, 36,
        28, 25, 21, 28, 29, 37, 25, 28, 26, 30, 32, 36, 26, 30, 22, 36, 23, 27, 27, 28, 27, 31, 27, 26, 33,
        26, 32, 32, 24, 39, 28, 24, 25, 32, 25, 29, 27, 28, 29, 16, 23.0,
    ]
)  # fmt: skip
"""Passage times of light, in nanoseconds above 24,800 (Newcomb, 1882)."""


def light(p: Any) -> Any:
    """Return the density for a prior that is flat in the mean and the logarithm of the deviation."""
    return -len(LIGHT) * p["log_sigma"] - 0.5 * np.sum(((LIGHT - p["mu"]) / np.exp(p["log_sigma"])) ** 2)


def light_means() -> dict[str, float]:
    squares = float(np.sum((LIGHT - LIGHT.mean()) ** 2))
    return {"mean": float(LIGHT.mean()), "variance": squares / (len(LIGHT) - 3)}


# -- a binomial proportion -------------------------------------------------------------------------------


def births(p: Any) -> Any:
    """Return the density of the share of girls, 437 of 980, for a flat prior; the argument is its logit."""
    return -438 * np.logaddexp(0, -p["logit"]) - 544 * np.logaddexp(0, p["logit"])


# -- Poisson rates with a gamma distribution -------------------------------------------------------------

FAILURES = np.array([5.0, 1, 5, 14, 3, 19, 1, 1, 4, 22])
HOURS = np.array([94.3, 15.7, 62.9, 126, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5])
"""Pumps of a power plant, thousands of hours (Gaver and O'Muircheartaigh, 1987)."""


def pumps(p: Any) -> Any:
    """Return the density of ten rates, whose gamma distribution has an exponential and a gamma prior."""
    alpha, beta, rates = np.exp(p["log_alpha"]), np.exp(p["log_beta"]), np.exp(p["log_rates"])
    failures = np.sum((FAILURES + alpha) * p["log_rates"] - rates * (HOURS + beta))
    gamma = len(HOURS) * (alpha * p["log_beta"] - special.gammaln(alpha))
    return failures + gamma - alpha + p["log_alpha"] + 0.1 * p["log_beta"] - beta


def pumps_means() -> dict[str, float]:
    a, b = np.meshgrid(np.linspace(-6, 4, 401), np.linspace(-12, 5, 681), indexing="ij")
    alpha, beta = np.exp(a)[..., None], np.exp(b)[..., None]
    log = special.gammaln(FAILURES + alpha) - special.gammaln(alpha) + alpha * np.log(beta)
    log = np.sum(log - (FAILURES + alpha) * np.log(beta + HOURS), axis=-1)
    log = log - alpha[..., 0] + a + 0.1 * b - beta[..., 0]
    first = ((FAILURES + alpha) / (HOURS + beta))[..., 0]
    return means(log, alpha=alpha[..., 0], beta=beta[..., 0], first=first)


# -- linear regression -----------------------------------------------------------------------------------

LOSS = np.array([42.0, 37, 37, 28, 18, 18, 19, 20, 15, 14, 14, 13, 11, 12, 8, 7, 8, 8, 9, 15, 15])
PLANT = np.array(
    [
        [80, 80, 75, 62, 62, 62, 62, 62, 58, 58, 58, 58, 58, 58, 50, 50, 50, 50, 50, 56, 70],
        [27, 27, 25, 24, 22, 23, 24, 24, 23, 18, 18, 17, 18, 19, 18, 18, 19, 19, 20, 20, 20],
        [89, 88, 90, 87, 87, 87, 93, 93, 87, 80, 89, 88, 82, 93, 89, 86, 72, 79, 80, 82, 91.0],
    ]
).T
"""The loss of ammonia by air flow, water temperature and acid concentration (Brownlee, 1965)."""
CENTRED = PLANT - PLANT.mean(axis=0)


def stack_loss(p: Any) -> Any:
    """Return the density for a prior that is flat in the coefficients and the logarithm of the deviation."""
    residuals = LOSS - p["centre"] - CENTRED @ p["slopes"]
    return -len(LOSS) * p["log_sigma"] - 0.5 * np.sum(residuals**2) * np.exp(-2 * p["log_sigma"])


def stack_loss_means() -> dict[str, float]:
    design = np.column_stack([np.ones(len(LOSS)), CENTRED])
    slopes, squares, _, _ = np.linalg.lstsq(design, LOSS, rcond=None)
    found = {"air flow": slopes[1], "water": slopes[2], "acid": slopes[3]}
    return {name: float(x) for name, x in found.items()} | {"variance": float(squares[0]) / (len(LOSS) - 6)}


# -- eight schools ---------------------------------------------------------------------------------------

EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
"""What coaching adds to scores, and standard errors (Rubin, 1981)."""


def schools(p: Any) -> Any:
    """Return the density with a normal prior of the mean and a half-Cauchy one of the deviation, both of scale 5."""
    tau = np.exp(p["log_tau"])
    likelihood = -0.5 * np.sum(((EFFECTS - p["mu"] - tau * p["z"]) / ERRORS) ** 2)
    prior = -0.5 * (p["mu"] / 5) ** 2 - np.log1p((tau / 5) ** 2) - 0.5 * np.sum(p["z"] ** 2)
    return likelihood + prior + p["log_tau"]


def schools_means() -> dict[str, float]:
    mu, u = np.meshgrid(np.linspace(-30, 35, 521), np.linspace(-14, 8, 881), indexing="ij")
    tau = np.exp(u)
    variance = ERRORS**2 + tau[..., None] ** 2
    log = -0.5 * np.sum((EFFECTS - mu[..., None]) ** 2 / variance + np.log(variance), axis=-1)
    log = log - 0.5 * (mu / 5) ** 2 - np.log1p((tau / 5) ** 2) + u
    first = mu + (EFFECTS[0] - mu) * tau**2 / variance[..., 0]
    return means(log, mu=mu, tau=tau, first=first)


# -- lines with a distribution ---------------------------------------------------------------------------

AGES = np.array([-14.0, -7, 0, 7, 14])
WEIGHTS = np.array(
    [
        [151, 199, 246, 283, 320], [145, 199, 249, 293, 354], [147, 214, 263, 312, 328],
        [155, 200, 237, 272, 297], [135, 188, 230, 280, 323], [159, 210, 252, 298, 331],
        [141, 189, 231, 275, 305], [159, 201, 248, 297, 338], [177, 236, 285, 350, 376],
        [134, 182, 220, 260, 296], [160, 208, 261, 313, 352], [143, 188, 220, 273, 314],
        [154, 200, 244, 289, 325], [171, 221, 270, 326, 358], [163, 216, 242, 281, 312],
        [160, 207, 248, 288, 324], [142, 187, 234, 280, 316], [156, 203, 243, 283, 317],
        [157, 212, 259, 307, 336], [152, 203, 246, 286, 321], [154, 205, 253, 298, 334],
        [139, 190, 225, 267, 302], [146, 191, 229, 272, 302], [157, 211, 250, 285, 323],
        [132, 185, 237, 286, 331], [160, 207, 257, 303, 345], [169, 216, 261, 295, 333],
        [157, 205, 248, 289, 316], [137, 180, 219, 258, 291], [153, 200, 244, 286, 324.0],
    ]
)  # fmt: skip
"""The weights of 30 young rats, at days from the 22nd (Gelfand and others, 1990)."""
HEIGHTS, GROWTHS = WEIGHTS.mean(axis=1), WEIGHTS @ AGES / np.sum(AGES**2)


def _vague(u: Any) -> Any:
    """Return the density of a logarithm of a deviation whose precision has the gamma distribution (0.001, 0.001)."""
    return -0.002 * u - 0.001 * np.exp(-2 * u)


def rats(p: Any) -> Any:
    """Return the density of 30 lines, whose heights and slopes are normal."""
    u, v, w = p["log_sigma"], p["log_height"], p["log_slope"]
    residuals = WEIGHTS - p["heights"][:, None] - p["slopes"][:, None] * AGES
    likelihood = -WEIGHTS.size * u - 0.5 * np.sum(residuals**2) * np.exp(-2 * u)
    heights = -len(WEIGHTS) * v - 0.5 * np.sum((p["heights"] - p["height"]) ** 2) * np.exp(-2 * v)
    slopes = -len(WEIGHTS) * w - 0.5 * np.sum((p["slopes"] - p["slope"]) ** 2) * np.exp(-2 * w)
    return likelihood + heights + slopes + _vague(u) + _vague(v) + _vague(w)


def rats_means() -> dict[str, float]:
    """Given the deviations the lines are normal, and each of the other two matters for heights or slopes alone."""
    count, u, inner = len(WEIGHTS), np.linspace(1.2, 2.6, 281), np.linspace(-6, 6, 2401)
    residuals = WEIGHTS - HEIGHTS[:, None] - GROWTHS[:, None] * AGES
    log = -3 * count * u - 0.5 * np.sum(residuals**2) * np.exp(-2 * u) + _vague(u)
    for found, weight in ((HEIGHTS, len(AGES)), (GROWTHS, np.sum(AGES**2))):
        variance = np.exp(2 * u)[:, None] / weight + np.exp(2 * inner)
        squares = np.sum((found - found.mean()) ** 2)
        part = _vague(inner) - 0.5 * (count - 1) * np.log(variance) - 0.5 * squares / variance
        log = log + special.logsumexp(part, axis=1)
    at_birth = float(HEIGHTS.mean() - 22 * GROWTHS.mean())
    return {"growth": float(GROWTHS.mean()), "at birth": at_birth, **means(log, deviation=np.exp(u))}


# -- a funnel --------------------------------------------------------------------------------------------


def funnel(p: Any) -> Any:
    """Return the density of a normal number v of deviation 3, and of nine of variance exp(v), given in deviations.

    Of the nine themselves chains do not reach the narrow end of the funnel, and tell errors that are too small.
    """
    x = p["z"] * np.exp(0.5 * p["v"])
    in_x = -0.5 * (p["v"] / 3) ** 2 - 0.5 * np.sum(x**2) * np.exp(-p["v"]) - 4.5 * p["v"]
    return in_x + 4.5 * p["v"]


# -- a mixture -------------------------------------------------------------------------------------------

EYES = np.array(
    [
        529, 530, 532, 533.1, 533.4, 533.6, 533.7, 534.1, 534.8, 535.3, 535.4, 535.9, 536.1, 536.3, 536.4,
        536.6, 537, 537.4, 537.5, 538.3, 538.5, 538.6, 539.4, 539.6, 540.4, 540.8, 542, 542.8, 543, 543.5,
        543.8, 543.9, 545.3, 546.2, 548.8, 548.7, 548.9, 549, 549.4, 549.9, 550.6, 551.2, 551.4, 551.5,
        551.6, 552.8, 552.9, 553.2,
    ]
)  # fmt: skip
"""Wavelengths to which the eyes of a monkey are most sensitive (Bowmaker and others, 1985)."""


def _mixture(lower: Any, log_gap: Any, log_sigma: Any) -> tuple[Any, Any, Any]:
    """Return the density of the three, and the logarithms of both components at the data along a last axis."""
    gap, sigma = np.exp(log_gap), np.exp(log_sigma)
    prior = ((lower - 537) / 5) ** 2 + ((log_gap - 2.5) / 0.3) ** 2 + ((log_sigma - 1.4) / 0.3) ** 2
    first, second = (EYES - lower[..., None]) / sigma[..., None], gap[..., None] / sigma[..., None]
    scale = log_sigma[..., None]
    return -0.5 * prior, -0.5 * first**2 - scale, -0.5 * (first - second) ** 2 - scale


def eyes(p: Any) -> Any:
    """Return the density of two normal components of one deviation; the share of the first has a beta prior (2, 2)."""
    z = p["logit"]
    prior, first, second = _mixture(p["lower"], p["log_gap"], p["log_sigma"])
    mixed = np.logaddexp(first - np.logaddexp(0, -z), second - np.logaddexp(0, z))
    return prior + np.sum(mixed) - 2 * np.logaddexp(0, -z) - 2 * np.logaddexp(0, z)


def eyes_means() -> dict[str, float]:
    """The density is a polynomial of the share, of degree 50, for which Gauss's rule of 26 points is exact."""
    share, weight = np.polynomial.legendre.leggauss(26)
    share, weight, parts = 0.5 * (share + 1), weight * (1 - share**2), list[Any]()
    for lower in np.linspace(525, 549, 33):
        grid = np.meshgrid(np.array([lower]), np.linspace(1, 4, 31), np.linspace(0.5, 2.5, 31), indexing="ij")
        prior, first, second = _mixture(*grid)
        top = np.maximum(first, second)
        sums = np.exp(first - top)[..., None] * share + np.exp(second - top)[..., None] * (1 - share)
        log = (prior + np.sum(top, axis=-1))[..., None] + np.sum(np.log(sums), axis=-2) + np.log(weight)
        parts.append(
            [
                log,
                *(np.broadcast_to(x[..., None], log.shape) for x in grid),
                np.broadcast_to(share, log.shape),
            ]
        )
    log, lower, log_gap, log_sigma, share = (np.concatenate(column) for column in zip(*parts, strict=True))
    gap, sigma = np.exp(log_gap), np.exp(log_sigma)
    return means(log, share=share, lower=lower, upper=lower + gap, deviation=sigma)


# -- logistic regression ---------------------------------------------------------------------------------

DOSES = np.array([1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])
BEETLES, KILLED = np.array([59.0, 60, 62, 56, 63, 59, 62, 60]), np.array([6.0, 13, 18, 28, 52, 53, 61, 60])
"""Beetles in carbon disulphide, by the logarithm of the dose (Bliss, 1935)."""


def _killed(centre: Any, slope: Any) -> Any:
    z = centre[..., None] + slope[..., None] * (DOSES - DOSES.mean())
    return np.sum(KILLED * z - BEETLES * np.logaddexp(0, z), axis=-1)


def beetles_means() -> dict[str, float]:
    centre, slope = np.meshgrid(np.linspace(-1, 2.5, 351), np.linspace(10, 65, 551), indexing="ij")
    return means(_killed(centre, slope), slope=slope, centre=centre)


# -- a change of a rate ----------------------------------------------------------------------------------

DISASTERS = np.array(
    [
        4, 5, 4, 1, 0, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2,
        2, 3, 4, 2, 1, 3, 2, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1,
        0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 0, 2, 3, 3, 1, 1, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 0, 1, 4, 0, 0,
        0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1.0,
    ]
)  # fmt: skip
"""Disasters in British coal mines, year by year from 1851 to 1962 (Jarrett, 1979)."""
YEARS = np.arange(1.0, len(DISASTERS))
EARLY, TOTAL = np.cumsum(DISASTERS)[:-1], np.sum(DISASTERS)


def coal(p: Any) -> Any:
    """Return the density of two rates with exponential priors; the year of the change, equally likely, is summed."""
    early, late = np.exp(p["log_early"]), np.exp(p["log_late"])
    each = EARLY * p["log_early"] - YEARS * early
    each = each + (TOTAL - EARLY) * p["log_late"] - (len(DISASTERS) - YEARS) * late
    top = np.max(each)
    return top + np.log(np.sum(np.exp(each - top))) - early - late + p["log_early"] + p["log_late"]


def coal_means() -> dict[str, float]:
    early, late = YEARS + 1, len(DISASTERS) - YEARS + 1
    first, second = EARLY + 1, TOTAL - EARLY + 1
    log = special.gammaln(first) - first * np.log(early) + special.gammaln(second) - second * np.log(late)
    return means(log, early=first / early, late=second / late)


PROBLEMS = {
    "light": Posterior(
        "normal, both parameters (Newcomb)",
        light,
        {"mu": 26.0, "log_sigma": 2.0},
        lambda p: {"mean": p["mu"], "variance": np.exp(2 * p["log_sigma"])},
        light_means,
        "closed form",
    ),
    "births": Posterior(
        "binomial share (Laplace's problem)",
        births,
        {"logit": 0.0},
        lambda p: {"share": 1 / (1 + np.exp(-p["logit"]))},
        lambda: {"share": 438 / 982},
        "closed form",
    ),
    "pumps": Posterior(
        "ten Poisson rates (Gaver)",
        pumps,
        {"log_alpha": 0.0, "log_beta": 0.0, "log_rates": np.log(FAILURES / HOURS)},
        lambda p: {
            "alpha": np.exp(p["log_alpha"]),
            "beta": np.exp(p["log_beta"]),
            "first": np.exp(p["log_rates"][0]),
        },
        pumps_means,
        "two integrals",
    ),
    "stack loss": Posterior(
        "linear regression (Brownlee)",
        stack_loss,
        {"centre": 17.0, "slopes": np.zeros(3), "log_sigma": 1.0},
        lambda p: {
            "air flow": p["slopes"][0],
            "water": p["slopes"][1],
            "acid": p["slopes"][2],
            "variance": np.exp(2 * p["log_sigma"]),
        },
        stack_loss_means,
        "closed form",
    ),
    "eight schools": Posterior(
        "normal effects (Rubin)",
        schools,
        {"mu": 0.0, "log_tau": 0.0, "z": np.zeros(8)},
        lambda p: {
            "mu": p["mu"],
            "tau": np.exp(p["log_tau"]),
            "first": p["mu"] + np.exp(p["log_tau"]) * p["z"][0],
        },
        schools_means,
        "two integrals",
        0.95,
    ),
    "rats": Posterior(
        "30 lines (Gelfand)",
        rats,
        {
            "height": HEIGHTS.mean(),
            "slope": GROWTHS.mean(),
            "heights": HEIGHTS,
            "slopes": GROWTHS,
            "log_sigma": 2.0,
            "log_height": 3.0,
            "log_slope": -0.5,
        },
        lambda p: {
            "growth": p["slope"],
            "at birth": p["height"] - 22 * p["slope"],
            "deviation": np.exp(p["log_sigma"]),
        },
        rats_means,
        "three integrals",
    ),
    "funnel": Posterior(
        "a funnel in deviations (Neal)",
        funnel,
        {"v": 0.0, "z": np.zeros(9)},
        lambda p: {"v": p["v"], "v squared": p["v"] ** 2, "log x squared": p["v"] + np.log(p["z"][0] ** 2)},
        lambda: {"v": 0.0, "v squared": 9.0, "log x squared": -np.euler_gamma - np.log(2)},
        "closed form",
    ),
    "eyes": Posterior(
        "two normal components (Bowmaker)",
        eyes,
        {"lower": np.array(537.0), "log_gap": np.array(2.0), "log_sigma": np.array(1.4), "logit": 0.0},
        lambda p: {
            "share": 1 / (1 + np.exp(-p["logit"])),
            "lower": p["lower"],
            "upper": p["lower"] + np.exp(p["log_gap"]),
            "deviation": np.exp(p["log_sigma"]),
        },
        eyes_means,
        "four integrals",
        0.9,
        4000,
    ),
    "beetles": Posterior(
        "logistic regression (Bliss)",
        lambda p: _killed(p["centre"], p["slope"]),
        {"centre": np.array(0.7), "slope": np.array(34.0)},
        lambda p: {"slope": p["slope"], "centre": p["centre"]},
        beetles_means,
        "two integrals",
    ),
    "coal": Posterior(
        "a change of a rate (Jarrett)",
        coal,
        {"log_early": 1.0, "log_late": 0.0},
        lambda p: {"early": np.exp(p["log_early"]), "late": np.exp(p["log_late"])},
        coal_means,
        "a sum",
    ),
}

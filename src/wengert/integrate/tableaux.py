"""The coefficients of Runge-Kutta methods.

==========  ======================================================================================================
`RK23`      Bogacki and Shampine, "A 3(2) pair of Runge-Kutta formulas" (1989)
`RK45`      Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980); the continuous extension of
            Shampine, "Some practical Runge-Kutta formulas" (1986), with its best choice of the free coefficient
`Tsit5`     Tsitouras, "Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption" (2011)
`DOP853`    Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I" (1993), sections II.5 and II.6,
            with the coefficients of their program
`RK4`       Kutta (1901), without an estimate of its error; cubic Hermite interpolation
==========  ======================================================================================================
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method, with the last stage at the end of the step.

    Stage i is ``k[i] = f(t + nodes[i] h, y + h sum_j stages[i][j] k[j])``. The last of the first ``count`` stages is
    the derivative at the end of the step, where the next step begins, so its row are the weights of the solution.
    """

    order: int
    """The order of the solution."""
    error_order: int
    """The order of the solution from which the error is estimated."""
    nodes: tuple[float, ...]
    stages: tuple[Mapping[int, float], ...]
    count: int
    """The stages of a step; those after them serve interpolation alone."""
    errors: tuple[Mapping[int, float], ...]
    """The weights of estimates of the error: none, one, or the two that the controller of DOP853 combines."""
    dense: Any
    """A polynomial ``p[i] = sum_m dense[i, m] x**(m + 1)`` for each stage; ``y + h sum_i k[i] p[i]`` at ``t + x h``."""


def _numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a text."""
    return tuple(map(float, text.split()))


def _rows(text: str) -> tuple[tuple[float, ...], ...]:
    """Return the rows of numbers of a text, which semicolons end; ``-`` for a row without numbers."""
    return tuple(() if row.strip() == "-" else _numbers(row) for row in text.split(";"))


def _weights(text: str) -> tuple[Mapping[int, float], ...]:
    """Return the rows of a tableau, which semicolons end: ``stage:weight``, and ``-`` for a row without weights."""
    rows = ([entry.split(":") for entry in row.split() if entry != "-"] for row in text.split(";"))
    return tuple({int(stage): float(weight) for stage, weight in row} for row in rows)


def _hermite(weights: Mapping[int, float], end: int) -> Any:
    """Return the cubic polynomials through both values and both slopes of a step."""
    dense = np.zeros((end + 1, 3))
    for stage, weight in weights.items():
        dense[stage] += weight * np.array([0.0, 3.0, -2.0])
    dense[0] += [1.0, -2.0, 1.0]
    dense[end] += [0.0, -1.0, 1.0]
    return dense


_RK4_WEIGHTS = {0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6}
RK4 = Tableau(
    order=4,
    error_order=0,
    nodes=(0, 1 / 2, 1 / 2, 1, 1),
    stages=({}, {0: 1 / 2}, {1: 1 / 2}, {2: 1}, _RK4_WEIGHTS),
    count=5,
    errors=(),
    dense=_hermite(_RK4_WEIGHTS, 4),
)

RK23 = Tableau(
    order=3,
    error_order=2,
    nodes=(0, 1 / 2, 3 / 4, 1),
    stages=({}, {0: 1 / 2}, {1: 3 / 4}, {0: 2 / 9, 1: 1 / 3, 2: 4 / 9}),
    count=4,
    errors=({0: 5 / 72, 1: -1 / 12, 2: -1 / 9, 3: 1 / 8},),
    dense=np.array([[1, -4 / 3, 5 / 9], [0, 1, -2 / 3], [0, 4 / 3, -8 / 9], [0, -1, 1]]),
)

RK45 = Tableau(
    order=5,
    error_order=4,
    nodes=(0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1),
    stages=(
        {},
        {0: 1 / 5},
        {0: 3 / 40, 1: 9 / 40},
        {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
        {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
        {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
        {0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
    ),
    count=7,
    errors=({0: -71 / 57600, 2: 71 / 16695, 3: -71 / 1920, 4: 17253 / 339200, 5: -22 / 525, 6: 1 / 40},),
    dense=np.array(
        [
            [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0, 0, 0, 0],
            [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
)

TSIT5 = Tableau(
    order=5,
    error_order=4,
    nodes=(0, 0.161, 0.327, 0.9, 0.9800255409045097, 1, 1),
    stages=_weights("""
        -;
        0:0.161;
        0:-0.008480655492356989 1:0.335480655492357;
        0:2.8971530571054935 1:-6.359448489975075 2:4.3622954328695815;
        0:5.325864828439257 1:-11.748883564062828 2:7.4955393428898365 3:-0.09249506636175525;
        0:5.86145544294642 1:-12.92096931784711 2:8.159367898576159 3:-0.071584973281401 4:-0.028269050394068383;
        0:0.09646076681806523 1:0.01 2:0.4798896504144996 3:1.379008574103742 4:-3.290069515436081 5:2.324710524099774
    """),
    count=7,
    errors=_weights("""
        0:-0.001780011052225777 1:-0.0008164344596567469 2:0.007880878010261995 3:-0.1447110071732629
            4:0.5823571654525552 5:-0.45808210592918697 6:0.015151515151515152
    """),
    dense=np.array(
        [
            [1, -2.763706197274826, 2.9132554618219126, -1.0530884977290216],
            [0, 0.1317, -0.2234, 0.1017],
            [0, 3.9302962368947516, -5.941033872131505, 2.490627285651253],
            [0, -12.411077166933676, 30.33818863028232, -16.548102889244902],
            [0, 37.50931341651104, -88.1789048947664, 47.37952196281928],
            [0, -27.896526289197286, 65.09189467479366, -34.87065786149661],
            [0, 1.5, -4, 2.5],
        ]
    ),
)

_DOP853_NODES = _numbers("""
    0.0 0.05260015195876773 0.0789002279381516 0.1183503419072274 0.2816496580927726 0.3333333333333333 0.25
        0.3076923076923077 0.6512820512820513 0.6 0.8571428571428571 1.0 1.0 0.1 0.2 0.7777777777777778
""")
_DOP853_STAGES = _weights("""
    -;
    0:0.05260015195876773;
    0:0.0197250569845379 1:0.0591751709536137;
    0:0.02958758547680685 2:0.08876275643042054;
    0:0.2413651341592667 2:-0.8845494793282861 3:0.924834003261792;
    0:0.037037037037037035 3:0.17082860872947386 4:0.12546768756682242;
    0:0.037109375 3:0.17025221101954405 4:0.06021653898045596 5:-0.017578125;
    0:0.03709200011850479 3:0.17038392571223998 4:0.10726203044637328 5:-0.015319437748624402 6:0.008273789163814023;
    0:0.6241109587160757 3:-3.3608926294469414 4:-0.868219346841726 5:27.59209969944671 6:20.154067550477894
        7:-43.48988418106996;
    0:0.47766253643826434 3:-2.4881146199716677 4:-0.590290826836843 5:21.230051448181193 6:15.279233632882423
        7:-33.28821096898486 8:-0.020331201708508627;
    0:-0.9371424300859873 3:5.186372428844064 4:1.0914373489967295 5:-8.149787010746927 6:-18.52006565999696
        7:22.739487099350505 8:2.4936055526796523 9:-3.0467644718982196;
    0:2.273310147516538 3:-10.53449546673725 4:-2.0008720582248625 5:-17.9589318631188 6:27.94888452941996
        7:-2.8589982771350235 8:-8.87285693353063 9:12.360567175794303 10:0.6433927460157636;
    0:0.054293734116568765 5:4.450312892752409 6:1.8915178993145003 7:-5.801203960010585 8:0.3111643669578199
        9:-0.1521609496625161 10:0.20136540080403034 11:0.04471061572777259;
    0:0.056167502283047954 6:0.25350021021662483 7:-0.2462390374708025 8:-0.12419142326381637 9:0.15329179827876568
        10:0.00820105229563469 11:0.007567897660545699 12:-0.008298;
    0:0.03183464816350214 5:0.028300909672366776 6:0.053541988307438566 7:-0.05492374857139099
        10:-0.00010834732869724932 11:0.0003825710908356584 12:-0.00034046500868740456 13:0.1413124436746325;
    0:-0.42889630158379194 5:-4.697621415361164 6:7.683421196062599 7:4.06898981839711 8:0.3567271874552811
        12:-0.0013990241651590145 13:2.9475147891527724 14:-9.15095847217987
""")
_DOP853_ERRORS = _weights("""
    0:0.01312004499419488 5:-1.2251564463762044 6:-0.4957589496572502 7:1.6643771824549864 8:-0.35032884874997366
        9:0.3341791187130175 10:0.08192320648511571 11:-0.022355307863886294;
    0:-0.18980075407240762 5:4.450312892752409 6:1.8915178993145003 7:-5.801203960010585 8:-0.4226823213237919
        9:-0.1521609496625161 10:0.20136540080403034 11:0.02265179219836082
""")
_DOP853_DENSE = _weights("""
    0:-8.428938276109013 5:0.5667149535193777 6:-3.0689499459498917 7:2.38466765651207 8:2.117034582445028
        9:-0.871391583777973 10:2.2404374302607883 11:0.6315787787694688 12:-0.08899033645133331
        13:18.148505520854727 14:-9.194632392478356 15:-4.436036387594894;
    0:10.427508642579134 5:242.28349177525817 6:165.20045171727028 7:-374.5467547226902 8:-22.113666853125306
        9:7.733432668472264 10:-30.674084731089398 11:-9.332130526430229 12:15.697238121770845 13:-31.139403219565178
        14:-9.35292435884448 15:35.81684148639408;
    0:19.985053242002433 5:-387.0373087493518 6:-189.17813819516758 7:527.8081592054236 8:-11.57390253995963
        9:6.8812326946963 10:-1.0006050966910838 11:0.7777137798053443 12:-2.778205752353508 13:-60.19669523126412
        14:84.32040550667716 15:11.99229113618279;
    0:-25.69393346270375 5:-154.18974869023643 6:-231.5293791760455 7:357.6391179106141 8:93.40532418362432
        9:-37.45832313645163 10:104.0996495089623 11:29.8402934266605 12:-43.53345659001114 13:96.32455395918828
        14:-39.17726167561544 15:-149.72683625798564
""")


def _dop853() -> Tableau:
    end, count = 12, len(_DOP853_NODES)
    # The interpolant d0 + (1 - x) (d1 + x (d2 + (1 - x) (d3 + ...))), times x, with d0 the step and d1, d2 Hermite's.
    rows = np.zeros((7, count))
    for stage, weight in _DOP853_STAGES[end].items():
        rows[:3, stage] += weight * np.array([1.0, -1.0, 2.0])
    rows[1, 0] += 1
    rows[2, [0, end]] -= 1
    for number, weights in enumerate(_DOP853_DENSE, 3):
        for stage, weight in weights.items():
            rows[number, stage] += weight
    powers = np.zeros((8, count))
    for number in range(6, -1, -1):
        powers[0] += rows[number]
        shifted = np.roll(powers, 1, axis=0)
        powers = shifted if number % 2 == 0 else powers - shifted
    return Tableau(8, 7, _DOP853_NODES, _DOP853_STAGES, end + 1, _DOP853_ERRORS, powers[1:].T.copy())


DOP853 = _dop853()


@dataclass(frozen=True)
class RosenbrockTableau:
    """A Rosenbrock method, in the form without products of the Jacobian and the stages.

    With ``W = I / (gamma h) - J``, stage i solves ``W k[i] = f(t + nodes[i] h, y + sum_j stages[i][j] k[j]) +
    sum_j couplings[i][j] k[j] / h + slopes[i] h df/dt``. The solution is ``y + sum_j weights[j] k[j]``, the last stage
    is the estimate of its error, and ``d[m] = sum_j dense[m][j] k[j]`` belong to its continuous extension
    ``y + x (step + (1 - x) (d[0] + x (d[1] + x d[2])))`` at ``t + x h``.
    """

    order: int
    error_order: int
    gamma: float
    nodes: tuple[float, ...]
    slopes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    couplings: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    dense: tuple[tuple[float, ...], ...]

    @functools.cached_property
    def quadrature(self) -> list[float]:
        """The weights with ``sum_j weights[j] k[j] = h sum_j quadrature[j] (f[j] + J k[j])``, f the slopes."""
        count = len(self.weights)
        inverse = np.eye(count) / self.gamma
        for stage, row in enumerate(self.couplings):
            inverse[stage, : len(row)] -= row
        return np.linalg.solve(inverse.T, self.weights).tolist()


_LAST = _numbers("""
    -7.502846399306121 2.561846144803919 -11.627539656261098 -0.18268767659942256 0.030198172008377946
""")
#: Steinebach, "Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential
#: Equations package" (2023): L-stable and stiffly accurate.
RODAS5P = RosenbrockTableau(
    order=5,
    error_order=4,
    gamma=0.21193756319429014,
    nodes=(0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1, 1, 1),
    slopes=(
        0.21193756319429014,
        -0.42387512638858027,
        -0.3384627126235924,
        1.8046452872882734,
        2.325825639765069,
        0,
        0,
        0,
    ),
    stages=(
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _LAST,
        (*_LAST, 1.0),
        (*_LAST, 1.0, 1.0),
    ),
    couplings=_rows("""
        -;
        -14.155112264123755;
        -17.97296035885952 -2.859693295451294;
        147.12150275711716 -1.41221402718213 71.68940251302358;
        165.43517024871676 -0.4592823456491126 42.90938336958603 -5.961986721573306;
        24.854864614690072 -3.0009227002832186 47.4931110020768 5.5814197821558125 -0.6610691825249471;
        30.91273214028599 -3.1208243349937974 77.79954646070892 34.28646028294783 -19.097331116725623
            -28.087943162872662;
        37.80277123390563 -3.2571969029072276 112.26918849496327 66.9347231244047 -40.06618937091002 -54.66780262877968
            -9.48861652309627
    """),
    weights=(*_LAST, 1.0, 1.0, 1.0),
    dense=_rows("""
        25.948786856663858 -2.5579724845846235 10.433815404888879 -2.3679251022685204 0.524948541321073
            1.1241088310450404 0.4272876194431874 -0.17202221070155493;
        -9.91568850695171 -0.9689944594115154 3.0438037242978453 -24.495224566215796 20.176138334709044
            15.98066361424651 -6.789040303419874 -6.710236069923372;
        11.419903575922262 2.8879645146136994 72.92137995996029 80.12511834622643 -52.072871366152654 -59.78993625266729
            -0.15582684282751913 4.883087185713722
    """),
)

"""Templates of short statements by feature; names in braces are drawn."""

from __future__ import annotations

from tests.programs.filling import Filling
from tests.programs.scope import Scope
from tests.programs.syntax import Line

ELEMENTWISE = """
{v} = np.sin({x})
{v} = np.cos({x})
{v} = np.tanh({x})
{v} = np.exp({small})
{v} = np.expm1({small})
{v} = np.log({pos})
{v} = np.log1p({pos})
{v} = np.log2({pos})
{v} = np.sqrt({pos})
{v} = np.cbrt({pos})
{v} = np.arctan({x})
{v} = np.arcsin({unit})
{v} = np.arccos({unit})
{v} = np.arcsinh({x})
{v} = np.arccosh({pos} + 1)
{v} = np.arctanh({unit})
{v} = np.sinh({small})
{v} = np.cosh({small})
{v} = np.tan({unit})
{v} = np.square({small})
{v} = np.reciprocal({pos})
{v} = np.abs({x})
{v} = np.sign({x}) * {y}
{v} = np.floor({x}) + {y}
{v} = np.rint({x}) * {y}
{v} = np.sinc({x})
{v} = np.exp2({unit})
{v} = np.deg2rad({x})
{v} = -{x}
{v} = {small} ** 2
{v} = {small} ** 3
{v} = {pos} ** -1
{v} = {pos} ** 0.5
{v} = 1 / {pos}
{v} = 2.0 ** {unit}
{v} = np.nan_to_num({x})
{v} = np.clip({x}, -0.8, 1.1)
{v} = {x}.clip(min=-0.5)
{v} = np.where({test}, {y}, {y2})
{v} = np.where({test}, np.sqrt({pos}), {y})
{v} = np.where({test}, {y}, 0)
{v} = np.select([{test}, {test2}], [{y}, {y2}], 0.5)
{v} = np.modf({x})[0]
{v} = {x} % 1.7
{v} = np.heaviside({x}, 0.5) * {y}
"""

BINARY = """
{v} = {x} + {y}
{v} = {x} - {y}
{v} = {x} * {y}
{v} = {x} / {away}
{v} = {c} - {x}
{v} = {c} * {x}
{v} = {x} * 2 + {y} * 0.5
{v} = np.maximum({x}, {y})
{v} = np.minimum({x}, {y})
{v} = np.fmax({x}, {y})
{v} = np.hypot({x}, {away})
{v} = np.arctan2({x}, {away})
{v} = np.logaddexp({x}, {y})
{v} = np.power({pos}, {unit})
{v} = {pos} ** {unit}
{v} = np.copysign({x}, {away})
{v} = np.fmod({x}, {away})
{v} = np.remainder({x}, {away})
{v} = np.floor_divide({x}, {away}) * {y}
{v} = np.divmod({x}, {away})[1]
{v} = np.multiply.outer({vec}, {vec2})
{v} = np.add({x}, {y}) * {y2}
{v} = np.float_power({pos}, {unit})
{v} = np.subtract({x}, {y}).astype({dtype})
"""

REDUCTIONS = """
{v} = np.sum({x})
{v} = np.sum({arr}, axis={axis}{keep})
{v} = {arr}.sum(axis={axis}{keep})
{v} = np.sum({arr}, axis={axes})
{v} = np.mean({arr}, axis={axisornone}{keep})
{v} = {arr}.mean()
{v} = np.prod(np.tanh({arr}), axis={axisornone}{keep})
{v} = np.max({arr}, axis={axisornone}{keep})
{v} = np.min({arr}, axis={axisornone}{keep})
{v} = {arr}.max(axis={axis})
{v} = np.var({arr}, axis={axisornone}{keep})
{v} = np.std({arr}, axis={axisornone}{keep})
{v} = np.ptp({arr}, axis={axis})
{v} = np.average({arr}, axis={axis})
{v} = np.cumsum({arr}, axis={axis})
{v} = np.cumprod(0.9 * np.tanh({arr}), axis={axis})
{v} = np.maximum.accumulate({arr}, axis={axis})
{v} = np.add.reduce({arr}, axis={axis})
{v} = np.diff({arr}, axis={axis})
{v} = np.gradient({arr}, axis={axis})
{v} = np.trapezoid({arr}, axis={axis})
{v} = np.linalg.norm({arr})
{v} = np.linalg.norm({stack}, axis={axis}{keep})
{v} = np.linalg.norm({vec}, ord=3)
{v} = np.nansum({arr}, axis={axis})
{v} = np.nanmean({arr})
{v} = wg.special.logsumexp({arr}, axis={axis})
{v} = np.add.reduceat({vec}, [0, 1])
{v} = np.argmax({apart}, axis={axis}) * 0.25
{v} = np.all({arr} > {gap}, axis={axis}) * 0.5
{v} = np.count_nonzero({arr} > {gap}) + {y}
"""

SPECIAL = """
{v} = wg.special.expit({x})
{v} = wg.special.softmax({arr}, axis={axis})
{v} = wg.special.log_softmax({arr}, axis={axis})
{v} = wg.special.softplus({x})
{v} = wg.special.erf({x})
{v} = wg.special.erfc({x})
{v} = wg.special.gammaln({pos})
{v} = wg.special.digamma({pos} + 1)
{v} = wg.special.xlogy({x}, {pos})
{v} = wg.special.entr({pos})
{v} = wg.special.logit(0.5 + 0.4 * np.tanh({x}))
"""

SHAPES = """
{v} = {laid}.reshape({target})
{v} = np.reshape({laid}, {target}) * {c}
{v} = {laid}.ravel()
{v} = {arr}.flatten()
{v} = {arr}.T * {c}
{v} = np.transpose({arr}, {perm}) + {c}
{v} = np.swapaxes({stack}, 0, -1) * {c}
{v} = np.moveaxis({stack}, 0, -1) * {c}
{v} = np.expand_dims({arr}, {axis}) * {c}
{v} = np.squeeze({arr}[None]) * {c}
{v} = np.flip({arr}, axis={axis}) * {c}
{v} = np.roll({arr}, {sign}, axis={axis})
{v} = np.rot90({stack}) * {c}
{v} = np.concatenate([{arr}, {same}], axis={axis})
{v} = np.stack([{arr}, {same}], axis={axis})
{v} = np.vstack([{vec}, {same}])
{v} = np.hstack([{arr}, {same}])
{v} = np.column_stack([{vec}, {same}])
{v} = np.tile({vec}, {n})
{v} = np.repeat({arr}, {n}, axis={axis})
{v} = np.pad({vec}, (1, 2))
{v} = np.pad({vec}, 1, mode="edge")
{v} = np.broadcast_to({arr}, (2,) + np.shape({arr})) * {c}
{v} = np.split(np.concatenate([{vec}, {same}]), 2)[1] * {c}
{v} = np.array_split({vec}, 2)[0] * {c}
{v} = np.diag({vec})
{v} = np.diagonal({square}, axis1=-2, axis2=-1) * {c}
{v} = np.tril({stack})
{v} = np.triu({stack}, k=1)
{v} = np.atleast_2d({x}) * {c}
{v} = np.append({vec}, {c})
{v} = np.delete({vec}, 0)
{v} = np.insert({vec}, 0, {scalar})
{v} = np.meshgrid({vec}, {vec2})[0] * {c}
{v} = wnp.array([{scalar}, {scalar2}])
{v} = np.block([[{vec}, {vec2}]])
{v} = np.lib.stride_tricks.sliding_window_view({vec}, 2) * {c}
"""

INDEXING = """
{v} = {arr}[{basic}] * {c}
{v} = {arr}[{advanced}]
{v} = {arr}[{index}] + {y}
{v} = np.take({arr}, [0, -1, 0], axis={axis})
{v} = wnp.take({vec}, {ints} % 2, mode="wrap")
{v} = np.take_along_axis({arr}, {positions}, axis=-1)
{v} = np.compress([True, False, True], {vec})
{v} = {arr}[..., ::-1] * {c}
{v} = {arr}[None] * {c}
{v} = np.choose(np.array([0, 1]), [{scalar}, {scalar2}])
{v} = {mat}[np.ix_([0, -1], [0])]
{v} = np.tril_indices(2)[0] * {x}.sum()
{v} = {arr}.flat[0] * {c}
"""

SORTING = """
{v} = np.sort({arr}, axis={axis})
{v} = np.sort({arr}, axis={axis})[::-1] * {c}
{v} = np.argsort({apart}, axis={axis})
{v} = np.take_along_axis({apart}, np.argsort({apart}, axis={axis}), axis={axis})
{v} = {table}[np.argsort({apart}) % len({table})]
{v} = np.median({arr}, axis={axisornone})
{v} = np.quantile({arr}, {frac}, axis={axis})
{v} = np.percentile({arr}, 30)
{v} = np.partition({arr}, 0, axis={axis})
{v} = np.interp({x}, [-2.0, 0.0, 2.5], [0.0, 1.0, -1.0])
{v} = np.searchsorted(np.array([-1.0, 0.0, 1.0]), {x}) * 0.5
{v} = np.sort({vec})[{basic}] * {c}
"""

LINEAR = """
{v} = np.linalg.solve({well}, {right})
{v} = np.linalg.solve({well}, np.eye(np.shape({well})[-1]))
{v} = np.linalg.inv({well})
{v} = np.linalg.det({well}) * 0.1
{v} = np.linalg.slogdet({well})[1]
{v} = np.linalg.slogdet({well}).logabsdet * {c}
{v} = np.linalg.cholesky({spd})
{v} = np.linalg.eigvalsh({spd})
{v} = np.linalg.eigh({spd})[0] * {c}
{v} = (lambda w, V: (V * np.sin(w)) @ V.T)(*np.linalg.eigh({spd}))
{v} = np.linalg.eigh({spd})[1] ** 2
{v} = np.abs(np.linalg.qr({tall})[1])
{v} = (lambda q: q @ q.T)(np.linalg.qr({tall})[0])
{v} = np.linalg.svd({tall}, compute_uv=False)
{v} = (lambda u, s, vt: (u * np.tanh(s)) @ vt)(*np.linalg.svd({tall}, full_matrices=False))
{v} = np.linalg.lstsq({tall}, np.cos(np.arange(np.shape({tall})[0])), rcond=None)[0]
{v} = np.linalg.pinv({tall})
{v} = np.linalg.matrix_power({well} * 0.4, {n})
{v} = np.linalg.matrix_power({well}, -2)
{v} = np.linalg.norm({mat}, "fro")
{v} = np.linalg.norm({tall}, "nuc")
{v} = np.linalg.norm({tall}, 2)
{v} = np.trace({mat})
{v} = np.linalg.multi_dot([{well}, {well}, {right}])
{v} = np.linalg.cond({well}) * 0.1
"""

PRODUCTS = """
{v} = {mat} @ {right}
{v} = np.dot({mat}, {right})
{v} = {vec} @ {same}
{v} = np.matmul({stack}, np.swapaxes({stack}, -1, -2))
{v} = np.einsum("ij,kj->ik", {mat}, {mat})
{v} = np.einsum("ij,j->i", {mat}, np.tanh({mat}[0]))
{v} = np.einsum("ij->ji", {mat}) * {c}
{v} = np.einsum("ii->i", {square}) * {c}
{v} = np.einsum("...i,...i", {arr}, {same})
{v} = np.einsum("i,j,i->j", {vec}, {vec2}, {vec})
{v} = np.tensordot({mat}, {mat}, axes=([0], [0]))
{v} = np.outer({vec}, {vec2})
{v} = np.inner({vec}, {same})
{v} = np.vdot({arr}, {same})
{v} = np.kron({vec}, {vec2})
{v} = np.convolve({vec}, {vec2})
{v} = np.correlate({vec}, {vec2}, mode="full")
{v} = np.cross(np.resize({vec}, 3), np.array([0.3, -1.0, 0.5]))
{v} = np.polyval({vec}, {unit})
{v} = np.cov({mat})
{v} = np.trapezoid({vec}, dx=0.5)
"""

MIXED = """
{v} = {x}.astype({dtype})
{v} = wnp.asarray({ints} * 2 + 1)
{v} = {ints} * {x}
{v} = {ints} + {ints2}
{v} = {ints} / 3
{v} = {bools} * {x}
{v} = np.where({bools}, {x}, {y})
{v} = {test}
{v} = {bools} & ~{bools2}
{v} = np.logical_or({bools}, {test})
{v} = np.sum({bools}) * {x}
{v} = {ints} % 3 == 1
{v} = {x}.astype(np.int32)
{v} = np.round({x} * 3).astype(np.int64)
{v} = np.mean({ints}) * {x}
{v} = np.float32(0.5) * {x}
{v} = np.float16(2.0) + {x}
{v} = np.int32(3) * {x}
{v} = True * {x}
{v} = {x} + np.ones(np.shape({x}), {dtype})
{v} = np.ones_like({x}) * {c} - {x}
{v} = np.concatenate([{vec}, {same}.astype({dtype})])
{v} = np.cumsum({ints})
{v} = np.maximum({ints}, 1) * 0.5
{v} = np.power({pos}, {ints} % 3)
{v} = {small} ** ({ints} % 3)
{v} = abs({x})
{v} = np.bitwise_xor({ints}, 3)
{v} = np.bincount(np.ravel({ints}) % 4, minlength=4) * {c}
{v} = wg.stop_gradient({x}) * {y}
"""

VIEWS_OF_EINSUM = """
{v} = np.einsum("ij->ji", {w})
{v} = np.einsum("ii->i", {w})
np.einsum("ij->ji", {w})[0] = {c}
"""

EXPONENTS = """
{v} = np.ldexp({x}, 2)
{v} = np.ldexp({x}, {ints} % 4)
"""

HISTOGRAMS = """
{v} = np.histogram(np.cumsum(np.abs({vec}) + 0.5), bins=3, density=True)[0]
{v} = np.histogram_bin_edges(np.cumsum(np.abs({vec}) + 0.5), bins=3)
"""

SINGULAR_POINTS = """
{v} = np.sqrt({x} * 0.0)
{v} = np.linalg.norm({arr} * 0.0)
{v} = np.sqrt({pos} * 0.0) * 0.0
"""

WRITES = """
{w}[{place}] = {value}
{w}[{place}] = {value}
{w}[{place}] += {value}
{w}[{place}] *= {value}
{w}[{place}] -= {value}
{w} += {value}
{w} *= 0.5
{w} -= {value}
{w}[...] = {value}
{w}.fill(0.5)
{w}[{w} > {gap}] = {c}
{v} = {arr}.copy()
{v} = {arr}.copy()
{v} = {arr} * 1.0
{v} = np.zeros_like({arr})
{v} = wnp.zeros((2, 3))
{v} = wnp.zeros(np.shape({arr}), {dtype})
{v} = np.full_like({arr}, 0.5)
{v} = {w}[{basic}]
{v} = {w}[{basic}]
{v} = {w}.T
{v} = np.swapaxes({w}, 0, -1)
{v} = {w}[None]
{v} = {w}
{v} = np.transpose({w})
{v} = np.atleast_2d({w})
{v} = np.moveaxis({w}, -1, 0)
{v} = np.expand_dims({w}, {axis})
{v} = np.flip({w})
{v} = np.split({w}, 1)[0]
{w}.sort()
np.fill_diagonal({w}, 0.3)
np.put_along_axis({w}, {positions}, {c}, axis=-1)
np.copyto({w}, 0.7)
np.add({w}, {value}, out={w})
np.multiply({w}, 0.5, out={w})
np.add.at({w}, [0, 0, -1], 0.25)
"""

FAMILIES: dict[str, str] = {
    "elementwise": ELEMENTWISE,
    "binary": BINARY,
    "reductions": REDUCTIONS,
    "special": SPECIAL,
    "shapes": SHAPES,
    "indexing": INDEXING,
    "sorting": SORTING,
    "linear algebra": LINEAR,
    "products": PRODUCTS,
    "mixed dtypes": MIXED,
    "writes": WRITES,
    "einsum views": VIEWS_OF_EINSUM,
    "exponents": EXPONENTS,
    "histograms": HISTOGRAMS,
    "singular points": SINGULAR_POINTS,
}


def lines(family: str) -> list[str]:
    return FAMILIES[family].strip().splitlines()


def fill(scope: Scope, family: str) -> None:
    """Add a statement of a family."""
    filling = Filling(scope)
    template = scope.draw.choice(lines(family))
    text = filling(template)
    view = family == "writes" and filling.made and "{w}" in template
    scope.add([Line(text)], [family, *(["views"] if view else [])])
    if filling.made and filling.boxed(template, text):
        scope.keep(filling.made)

"""Names of autograd, JAX, PyTorch, NumPy and SciPy that Wengert's modules lack, with the words to write here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_LOOPS = "wg.scan, wg.cond, wg.while_loop or wg.fori_loop"
_TREES = "wg.tree.map_tree, wg.tree.leaves, wg.tree.flatten or wg.tree.unflatten"
_DATACLASS = "a dataclass of layers, or wg.nn.Chain(...)"

#: By module and name; docs/coming_from.md has these names in its tables.
INSTEAD: dict[str, dict[str, str]] = {
    "wengert": {
        "elementwise_grad": "wg.vmap(wg.grad(f))(x)",
        "hessian_vector_product": "wg.hvp(f)(x, v)",
        "make_ggnvp": "wg.gnvp(f)(x, v)",
        "make_vjp": "wg.vjp(f, x)",
        "make_jvp": "wg.jvp(f, (x,), (v,))",
        **dict.fromkeys(("defvjp", "custom_gradient"), "wg.custom_vjp"),
        "lax": _LOOPS,
        "tree_util": _TREES,
        "tree_map": "wg.tree.map_tree(f, tree)",
        "tree_leaves": "wg.tree.leaves(tree)",
        "make_jaxpr": "wg.trace(f)(x), or wg.source(f)(x) for NumPy",
        "config": "WENGERT_CHECK=nan in the environment, to find a NaN",
        "pmap": "wg.vmap, or wg.parallel.map for other processes",
        "experimental": "wg.jet, wg.sparse_jacobian or wg.integrate",
        "tensor": "wg.Variable(x)",
        "func": "wg.grad, wg.vmap, wg.jacrev, wg.jacfwd, wg.hessian, wg.jvp or wg.vjp",
        "compile": "wg.jit(step, donate=0)",
        "save": "wg.export(f, *args).save(path) for a function, wg.train.save_model(path, model) for a model",
        "manual_seed": "a seed or a generator for each thing that draws, such as wg.random.key(0)",
        "onnx": "wg.export(f, x).onnx(path)",
        "jnp": "np of import numpy as np: wg.grad, wg.jit and wg.vmap follow NumPy's functions",
        "njit": "wg.jit(f)",
        "grad_and_value": "wg.value_and_grad(f)(x)",
        "gradient": "wg.grad(f)(x)",
        "Tensor": "wg.Variable(x)",
    },
    "wengert.tree": {"map": "wg.tree.map_tree(f, tree)"},
    "wengert.nn": {
        "Linear": "wg.nn.Dense(inputs, outputs, seed=0)",
        **dict.fromkeys(("Module", "Model", "Layer"), _DATACLASS),
        "ModuleList": "a list of layers in a dataclass, or wg.nn.Chain(...)",
        "Sequential": "wg.nn.Chain(...)",
        "Parameter": "an array as a field of a dataclass; wg.tree.static for a setting",
        "Input": "wg.nn.Chain(...): shapes are those of the input",
        **{
            name: f"wg.nn.{name.lower()}"
            for name in ("ReLU", "ELU", "GELU", "SiLU", "Sigmoid", "Tanh", "Softplus", "Softmax")
        },
        "LeakyReLU": "wg.nn.leaky_relu",
        "LogSoftmax": "wg.nn.log_softmax",
        "swish": "wg.nn.silu",
        "Activation": "the function itself, such as wg.nn.relu",
        **{f"Conv{n}d": f"wg.nn.Conv{n}D(channels, filters, size, seed=0)" for n in (1, 2, 3)},
        "Conv": "wg.nn.Conv2D(channels, filters, size, seed=0)",
        "DepthwiseConv2D": "wg.nn.Conv2D(channels, filters, size, groups=channels, seed=0)",
        "ConvTranspose2d": "wg.nn.ConvTranspose2D(channels, filters, size, seed=0)",
        "Conv2DTranspose": "wg.nn.ConvTranspose2D(channels, filters, size, seed=0)",
        "MaxPool2d": "wg.nn.MaxPool2D(size)",
        "MaxPooling2D": "wg.nn.MaxPool2D(size)",
        "AvgPool2d": "wg.nn.AvgPool2D(size)",
        "AveragePooling2D": "wg.nn.AvgPool2D(size)",
        "AdaptiveAvgPool2d": "wg.nn.AdaptiveAvgPool2D(size)",
        "GlobalAveragePooling2D": "wg.nn.AdaptiveAvgPool2D(1)",
        "Upsample": 'wg.nn.Upsample2D(factor, "nearest") or "linear"',
        "UpSampling2D": 'wg.nn.Upsample2D(factor, "nearest") or "linear"',
        "interpolate": 'wg.nn.upsample(x, factor, "nearest") or "linear"',
        "BatchNorm1d": "wg.nn.BatchNorm(channels)",
        "BatchNorm2d": "wg.nn.BatchNorm(channels)",
        "BatchNormalization": "wg.nn.BatchNorm(channels, momentum=1 - momentum)",
        "LayerNormalization": "wg.nn.LayerNorm(shape)",
        "InstanceNorm2d": "wg.nn.GroupNorm(channels, channels)",
        "Dropout2d": "wg.nn.Dropout(rate, shared=(2, 3))",
        "MultiheadAttention": "wg.nn.MultiHeadAttention(size, heads, seed=0)",
        "TransformerEncoderLayer": "wg.nn.TransformerBlock(size, heads, causal=False, seed=0)",
        "scaled_dot_product_attention": "wg.nn.attention(queries, keys, values)",
        "CrossEntropyLoss": "wg.nn.softmax_cross_entropy(logits, labels)",
        "cross_entropy": "wg.nn.softmax_cross_entropy(logits, labels)",
        "NLLLoss": "wg.nn.softmax_cross_entropy(log_probabilities, labels)",
        "BCEWithLogitsLoss": "wg.nn.sigmoid_cross_entropy(logits, labels)",
        "BCELoss": "wg.nn.sigmoid_cross_entropy(logits, labels), of logits, not of probabilities",
        "MSELoss": "wg.nn.mean_squared_error(predictions, targets)",
        "mse_loss": "wg.nn.mean_squared_error(predictions, targets)",
        "HuberLoss": "wg.nn.huber_loss(predictions, targets, threshold)",
        "SmoothL1Loss": "wg.nn.huber_loss(predictions, targets, threshold) / threshold",
        "KLDivLoss": "wg.nn.kl_divergence(log_probabilities, targets)",
        "CTCLoss": "wg.nn.ctc_loss(logits, labels, input_lengths, label_lengths)",
        "functional": "functions such as wg.nn.relu",
        "init": "wg.nn.glorot_uniform, wg.nn.he_normal and others, as initialise=",
    },
    "wengert.optim": {
        "Adam": "wg.optim.adam(rate)",
        "SGD": "wg.optim.sgd(rate)",
        "AdamW": "wg.optim.adamw(rate)",
    },
    "wengert.random": {
        "PRNGKey": "wg.random.key(seed)",
        **dict.fromkeys(("seed", "default_rng"), "key = wg.random.key(seed), and pass a key to each draw"),
        "rand": "wg.random.uniform(key, shape)",
        **dict.fromkeys(("randn", "standard_normal"), "wg.random.normal(key, shape)"),
    },
    "wengert.optimize": {
        **{
            name: f"scipy.optimize.{name}, in whose place wg.grad and wg.jit run a solver of Wengert's"
            for name in ("brentq", "brenth", "ridder", "bisect", "toms748", "fsolve", "newton")
        },
        "Bounds": "bounds=[(low, high), ...] or scipy.optimize.Bounds in wg.optimize.minimize",
        **dict.fromkeys(("fmin", "fmin_bfgs", "minimize_scalar"), "wg.optimize.minimize(f, x0)"),
        "leastsq": "wg.optimize.least_squares(residuals, x0)",
    },
    "wengert.integrate": {
        **dict.fromkeys(("diffeqsolve", "ode"), "wg.integrate.solve_ivp(fun, (t0, t1), y0)"),
        **dict.fromkeys(("dblquad", "nquad"), "wg.integrate.cubature(f, a, b)"),
    },
}
#: The methods of optimisers of PyTorch, and what stands for them here.
OF_OPTIMISERS = {
    "step": "model, state = optimiser.update(gradients, state, model)",
    "apply_updates": "model, state = optimiser.update(gradients, state, model)",
    "zero_grad": "no such line: wg.grad returns new gradients in each call",
    "state_dict": "the state that optimiser.update returns: a container of arrays",
}


def absent(module: str, name: str, home: str = "") -> AttributeError:
    """Return the error for a name that a module lacks; it says what to write for a name of another library.

    Args:
        module: that lacks it.
        name: the name.
        home: the package of the module that has it, such as "nn".

    Example:
        >>> print(absent("wengert", "make_vjp"))
        module 'wengert' has no attribute 'make_vjp'; write wg.vjp(f, x) (docs/coming_from.md)
    """
    text = f"module {module!r} has no attribute {name!r}"
    if home:
        return AttributeError(f"{text}; write wg.{home}.{name}")
    tables = INSTEAD.values() if module == "wengert" else ()
    if instead := next((table[name] for table in (INSTEAD[module], *tables) if name in table), ""):
        return AttributeError(f"{text}; write {instead} (docs/coming_from.md)")
    if module == "wengert" and hasattr(sys.modules.get("numpy"), name):
        return AttributeError(f"{text}; write np.{name}: transforms follow NumPy's functions")
    return AttributeError(text, name=name, obj=sys.modules.get(module))  # Python looks for a like name in it


def absent_from(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module, which raises the error of `absent`."""

    def get(name: str) -> Any:
        raise absent(module, name)

    return get

"""Names of autograd, JAX and PyTorch that Wengert's modules lack, with the words to write here."""

from __future__ import annotations

import sys

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
        "defvjp": "wg.custom_vjp",
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
    },
    "wengert.tree": {"map": "wg.tree.map_tree(f, tree)"},
    "wengert.nn": {
        "Linear": "wg.nn.Dense(inputs, outputs, seed=0)",
        "Module": _DATACLASS,
        "Sequential": "wg.nn.Chain(...)",
        "CrossEntropyLoss": "wg.nn.softmax_cross_entropy(logits, labels)",
        "cross_entropy": "wg.nn.softmax_cross_entropy(logits, labels)",
    },
    "wengert.optim": {
        "Adam": "wg.optim.adam(rate)",
        "SGD": "wg.optim.sgd(rate)",
        "AdamW": "wg.optim.adamw(rate)",
    },
}


def absent(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module lacks; it says what to write for a name of another library.

    Example:
        >>> print(absent("wengert", "make_vjp"))
        module 'wengert' has no attribute 'make_vjp'; write wg.vjp(f, x) (docs/coming_from.md)
    """
    text = f"module {module!r} has no attribute {name!r}"
    instead = INSTEAD[module].get(name)
    if instead:
        return AttributeError(f"{text}; write {instead} (docs/coming_from.md)")
    return AttributeError(text, name=name, obj=sys.modules.get(module))  # Python looks for a like name in it

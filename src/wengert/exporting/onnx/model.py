"""A function as an ONNX model, checked before a file is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert._version import __version__
from wengert.compiler.freestanding.function import Function
from wengert.engine.core.dtypes import Dtype, is_complex
from wengert.engine.core.errors import MissingExtraError, UnsupportedError, message
from wengert.engine.core.files import replace_all
from wengert.engine.ir.types import TensorType
from wengert.engine.passes.expand_programs import expand_programs
from wengert.exporting.onnx import (
    contraction,
    control,
    elementwise,
    functions,
    indexing,
    reductions,
    shapes,
)
from wengert.exporting.onnx.graphs import write
from wengert.exporting.onnx.values import Body, Node, Value, Writer

OPSET, IR_VERSION = 21, 10
#: The modules that fill the table of lowerings.
FAMILIES = (elementwise, functions, shapes, reductions, contraction, indexing, control)


def model(function: Function, name: str) -> Any:
    """Return a function as an ``onnx.ModelProto`` that the full checker accepts."""
    try:
        import onnx.checker
        import onnx.helper
    except ImportError:
        hint = "pip install 'wengert[onnx]'"
        raise MissingExtraError(message("export", "ONNX needs the package onnx", hint=hint)) from None
    writer = written(function, name)
    graph = _Translation(writer).graph(writer.body, writer.initializers)
    made = onnx.helper.make_model(
        graph,
        producer_name="wengert",
        producer_version=__version__,
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    onnx.checker.check_model(made, full_check=True)
    return made


def write_onnx(named: Sequence[tuple[Path, Function]]) -> list[Path]:
    """Write the model of each function, after all have been made, and return the paths."""
    contents = [(path, model(function, path.stem).SerializeToString()) for path, function in named]
    return replace_all(dict(contents))


def written(function: Function, name: str) -> Writer:
    """Return the nodes of a function, whose inputs and outputs have the names of its leaves."""
    writer = Writer(name)
    inputs = [
        writer.input(TensorType(leaf.type.dtype, leaf.type.shape), leaf.name) for leaf in function.arguments
    ]
    outputs = write(writer, expand_programs(function.graph), inputs)
    for leaf in (*function.arguments, *function.results):
        if is_complex(leaf.type.dtype):
            requirement = "the arguments and results of a model must be real"
            raise UnsupportedError(message("export", requirement, f"{leaf.type} for {leaf.path}"))
    for number, (value, leaf) in enumerate(zip(outputs, function.results, strict=True)):
        # A value has one name: what replaces an argument gets another one.
        name = f"{leaf.name}_out" if number in function.places else leaf.name
        writer.output(value.cast(leaf.type.dtype), name)
    read = _drop_unread(writer.body)
    writer.initializers = {name: x for name, x in writer.initializers.items() if name in read}
    return writer


def _drop_unread(body: Body) -> set[str]:
    """Drop nodes whose results nobody reads, and return the names of all values that are read."""
    read = {value.name for value in body.outputs}
    needed: list[Node] = []
    for node in reversed(body.nodes):
        if read.isdisjoint(node.outputs):
            continue
        needed.append(node)
        read |= {name for name in node.inputs if name}
        for inner in (value for value in node.attributes.values() if isinstance(value, Body)):
            read |= _drop_unread(inner)
    body.nodes = needed[::-1]
    return read


class _Translation:
    """Makes the messages of the format."""

    def __init__(self, writer: Writer) -> None:
        import onnx.helper
        import onnx.numpy_helper

        self.writer = writer
        self._helper: Any = onnx.helper
        self._numpy: Any = onnx.numpy_helper

    def graph(self, body: Body, initializers: dict[str, Any]) -> Any:
        """Return a graph: of the model with its constants, or an inner one without any."""
        return self._helper.make_graph(
            [self._node(node) for node in body.nodes],
            body.name,
            list(map(self._described, body.inputs)),
            list(map(self._described, body.outputs)),
            [self._numpy.from_array(value, name) for name, value in initializers.items()],
        )

    def _described(self, value: Value) -> Any:
        return self._helper.make_tensor_value_info(value.name, self._element(value.dtype), value.shape)

    def _element(self, dtype: Dtype) -> int:
        return self._helper.np_dtype_to_tensor_dtype(dtype)

    def _node(self, node: Node) -> Any:
        attributes = {name: self._attribute(value) for name, value in node.attributes.items()}
        inputs, outputs = list(node.inputs), list(node.outputs)
        return self._helper.make_node(node.operator, inputs, outputs, doc_string=node.location, **attributes)

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, Body):
            return self.graph(value, {})
        return self._element(value) if isinstance(value, np.dtype) else value

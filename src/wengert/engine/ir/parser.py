"""The parser: the text of a graph read back into the same graph."""

from __future__ import annotations

import ast
import base64
import itertools
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from wengert.engine.core.dtypes import FROM_SHORT_NAME, Dtype
from wengert.engine.core.errors import GraphError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.opaque import find
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ir.verify import verify

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>\#[^\n]*)
      | (?P<number>-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf\b|nan\b))
      | (?P<name>[^\W\d]\w*)
      | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
      | (?P<opaque>@[\w.]+)
      | (?P<sign>[\[\](){}:,=*])""",
    re.VERBOSE,
)
_WORDS = {"None": None, "True": True, "False": False}


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def parse(source: str) -> Graph:
    """Read the text of a graph.

    ``parse(str(graph))`` prints as ``graph`` does, and computes the same.

    Raises:
        GraphError: the text is not that of a well-formed graph; the message names the line.

    Example:
        >>> graph = parse("graph(x: f64[]) { v1: f64[] = sin(x) return v1 }")
        >>> print(graph)
        graph(x: f64[]) {
          v1: f64[] = sin(x)
          return v1
        }
    """
    parser = _Parser(source)
    graph = parser.graph()
    parser.expect("")
    verify(graph)
    return graph


def _tokens(source: str) -> list[_Token]:
    tokens: list[_Token] = []
    position, line = 0, 1
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            shown = source[position : position + 10].split("\n")[0]
            raise _problem("this is not part of a graph", repr(shown), line)
        assert match.lastgroup is not None
        if match.lastgroup != "space":
            tokens.append(_Token(match.lastgroup, match.group(), line))
        line += match.group().count("\n")
        position = match.end()
    return [*tokens, _Token("end", "", line)]


class _Parser:
    """Recursive descent, one method for each part of the language."""

    def __init__(self, source: str) -> None:
        self.tokens = _tokens(source)
        self.position = 0
        self.scopes: list[dict[str, Var]] = []
        self.data = self.data_section()

    # -- tokens ------------------------------------------------------------------------------------------

    def peek(self) -> _Token:
        """Return the next token; comments are for `location` alone."""
        while self.tokens[self.position].kind == "comment":
            self.position += 1
        return self.tokens[self.position]

    def take(self, kind: str = "") -> str:
        """Return the text of the next token, which must be of a kind."""
        token = self.peek()
        if kind and token.kind != kind:
            self.fail(f"a {kind}")
        self.position += token.kind != "end"
        return token.text

    def at(self, text: str) -> bool:
        """Go past the next token if it is this one."""
        matches = self.peek().text == text
        self.position += matches and self.peek().kind != "end"
        return matches

    def expect(self, text: str) -> None:
        """Go past the next token, which must be this one."""
        if not self.at(text):
            self.fail(repr(text) if text else "the end")

    def fail(self, wanted: str) -> NoReturn:
        """Raise `GraphError` for the next token."""
        token = self.peek()
        actual = repr(token.text) if token.text else "the end"
        raise _problem(f"{wanted} is expected", actual, token.line)

    def made(self, make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return the value that a function makes of parsed text, or raise `GraphError`."""
        try:
            with np.errstate(over="ignore"):
                return make(*arguments, **options)
        except (ValueError, TypeError, OverflowError, SyntaxError) as problem:
            line = self.tokens[self.position - 1].line
            raise _problem("a value must fit its type", str(problem), line) from None

    def sequence(self, close: str, item: Callable[[], Any]) -> list[Any]:
        """Return items with commas between them, up to a closing bracket."""
        items: list[Any] = []
        while not self.at(close):
            items.append(item())
            if not self.at(","):
                self.expect(close)
                break
        return items

    def integer(self) -> int:
        """Return a whole number that is not negative."""
        if not self.peek().text.isdecimal():
            self.fail("a whole number")
        return int(self.take())

    # -- the graph ---------------------------------------------------------------------------------------

    def data_section(self) -> dict[int, bytes]:
        """Read the section of data, which comes last, before all else."""
        pairs = enumerate(itertools.pairwise(self.tokens))
        start = next((i for i, (word, two) in pairs if (word.text, two.text) == ("data", "{")), None)
        if start is None:
            return {}
        self.position = start + 2
        arrays: dict[int, bytes] = {}
        while not self.at("}"):
            number = self.integer()
            self.expect(":")
            arrays[number] = self.made(base64.b64decode, self.take("string")[1:-1], validate=True)
        self.expect("")
        self.tokens[start:] = [_Token("end", "", self.tokens[start].line)]
        self.position = 0
        return arrays

    def graph(self) -> Graph:
        """Read ``graph(inputs) { lines }``."""
        self.expect("graph")
        self.expect("(")
        self.scopes.append({})
        inputs = self.sequence(")", lambda: self.declaration(named=True))
        self.expect("{")
        constants: list[tuple[Var, Any]] = []
        equations: list[Equation] = []
        while not self.at("return"):
            declared = [self.declaration()]
            while self.at(","):
                declared.append(self.declaration())
            self.expect("=")
            if self.peek().kind == "name" and self.peek().text not in _CONSTANT_WORDS:
                equations.append(self.equation(declared))
            else:
                constants.append((declared[0], self.constant(declared[0].type)))
        outputs = self.sequence("}", self.atom)
        self.scopes.pop()
        return Graph(tuple(inputs), tuple(constants), tuple(equations), tuple(outputs))

    def declaration(self, named: bool = False) -> Var:
        """Read ``name: type``; the names of inputs are the user's."""
        line = self.peek().line
        name = self.take("name")
        self.expect(":")
        var = Var(self.type(), name if named else "")
        if name in self.scopes[-1]:
            raise _problem("a value may be defined only once", name, line)
        self.scopes[-1][name] = var
        return var

    def type(self) -> TensorType:
        """Read a type such as ``f64*[2,3]``."""
        dtype = self.dtype()
        weak = self.at("*")
        self.expect("[")
        return TensorType(dtype, tuple(self.sequence("]", self.integer)), weak)

    def dtype(self) -> Dtype:
        """Read the short name of a dtype."""
        if self.peek().text not in FROM_SHORT_NAME:
            self.fail("a dtype")
        return FROM_SHORT_NAME[self.take()]

    def equation(self, outputs: list[Var]) -> Equation:
        """Read ``primitive[params](operands) # location``."""
        primitive = self.take("name")
        params: dict[str, Any] = {}
        if self.at("["):
            params = dict(self.sequence("]", self.named_param))
        self.expect("(")
        operands = self.sequence(")", self.atom)
        return Equation(primitive, tuple(operands), tuple(outputs), params, self.location())

    def location(self) -> str:
        """Return the comment behind an equation, on its last line."""
        last, token = self.tokens[self.position - 1], self.tokens[self.position]
        if token.kind != "comment" or token.line != last.line:
            return ""
        location = token.text[1:].strip()
        return self.made(ast.literal_eval, location) if location[:1] in ("'", '"') else location

    def atom(self) -> Atom:
        """Read an operand: a value defined before, or a scalar."""
        token = self.peek()
        if token.kind == "number" or token.text in {*_WORDS, *FROM_SHORT_NAME, "complex"}:
            value = self.param()
            return Literal(value, type_of(value))
        if token.text not in self.scopes[-1]:
            self.fail("a value defined before")
        return self.scopes[-1][self.take()]

    # -- parameters and constants ------------------------------------------------------------------------

    def named_param(self) -> tuple[str, Any]:
        """Read ``name=value``."""
        name = self.take("name")
        self.expect("=")
        return name, self.param()

    def param(self) -> Any:
        """Read the value of a parameter."""
        token = self.peek()
        if token.kind == "number":
            return _number(self.take())
        if token.kind == "string":
            return self.made(ast.literal_eval, self.take())
        if token.kind == "opaque":
            return find(self.take()[1:])
        if token.text == "graph":
            return self.graph()
        if self.at("("):
            return tuple(self.sequence(")", self.param))
        if token.text in _WORDS:
            return _WORDS[self.take()]
        return self.complex() if self.at("complex") else self.typed()

    def complex(self) -> complex:
        """Read a complex number from its opening bracket on: ``complex(1.0, -2.0)`` keeps the signs of zeros."""
        self.expect("(")
        parts = self.sequence(")", self.param)
        return self.made(complex, *parts)

    def typed(self) -> Any:
        """Read a dtype, a type, or a scalar of NumPy's: ``f64``, ``f64[3]``, ``f64(3.0)``."""
        start = self.position
        dtype = self.dtype()
        if self.at("("):
            value = self.param()
            self.expect(")")
            return self.made(dtype.type, value)
        if self.peek().text in ("*", "["):
            self.position = start
            return self.type()
        return dtype

    def constant(self, type_: TensorType) -> Any:
        """Read nested lists, or the number of an entry of the section of data."""
        line = self.peek().line
        if self.at("summary"):
            hint = "print the graph with graph.text(full=True)"
            raise _problem("a constant that is summed up cannot be read back", str(type_), line, hint)
        if self.at("data"):
            number = self.integer()
            elements = self.made(np.frombuffer, self.data.get(number, b""), type_.dtype)
        else:
            elements = self.made(np.array, self.elements(), type_.dtype)
        if elements.size != size(type_.shape):
            requirement = f"a constant of {size(type_.shape)} elements is expected"
            raise _problem(requirement, f"{elements.size}", line)
        constant = elements.reshape(type_.shape).copy()
        constant.flags.writeable = False
        return constant

    def elements(self) -> list[Any]:
        """Return the elements of nested lists in order."""
        if self.at("["):
            return [element for part in self.sequence("]", self.elements) for element in part]
        return [self.param()]


_CONSTANT_WORDS = {"summary", "data", "True", "False", "complex"}


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _problem(requirement: str, got: str, line: int, hint: str = "") -> GraphError:
    return GraphError(message("parse", requirement, f"{got} on line {line}", hint))

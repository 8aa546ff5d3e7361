"""The native function of an entry, with the signature by which Python calls its built-in functions.

An entry checks its arguments, runs the program, and makes the results, all without the interpreter. If an object is not
exactly of the type that the program was compiled for, it passes the whole call on to the next callable. The text does
not depend on the process: all addresses are in a table, to which the ``self`` of the entry refers.

Sources: the Python/C API manual, "Common Object Structures" (``METH_FASTCALL | METH_KEYWORDS``); PEP 590, vectorcall;
the NumPy C-API manual, "Array API".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from wengert.compiler.codegen.interface import FIRST, POLL, Interface
from wengert.compiler.codegen.interface import STATUS as STATUS_SLOT
from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.runtime.fastcall.objects import (
    I32,
    OFFSETS,
    READABLE,
    WRITABLE,
    ObjectFunction,
    code_of,
)
from wengert.engine.core.dtypes import SHORT_NAMES, Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.tree import LEAF, Structure, insertion_order, is_namedtuple
from wengert.engine.ir.types import TensorType


class Signature(NamedTuple):
    """The arguments and results of a compiled function: containers, and the types of their leaves in order."""

    arguments: Structure
    """The tuple of positional arguments."""
    taken: tuple[TensorType, ...]
    results: Structure
    returned: tuple[TensorType, ...]
    named: Structure = Structure(dict)
    """The arguments by name, in the order of the call."""


# -- the table of addresses ------------------------------------------------------------------------------

_OBJECTS = ("float", "int", "tuple", "list", "dict", "ndarray", "True", "False", "None")
#: The word with the address of a number, which is not zero while donated arrays are known.
GIVEN_UP = "given up"
_FUNCTIONS = (
    "PyObject_Vectorcall", "Py_IncRef", "Py_DecRef", "PyFloat_FromDouble", "PyLong_FromLongLong", "PyBool_FromLong",
    "PyLong_AsLongLongAndOverflow", "PyTuple_New", "PyList_New", "PyDict_New", "PyDict_Next", "PyDict_SetItem",
    "PyArray_New", "PyArray_Scalar",
)  # fmt: skip
_SCALARS = tuple(f"{part} {name}" for name in SHORT_NAMES.values() for part in ("scalar", "dtype"))
#: The position in the table, in words, of each address that is the same for all entries of a process.
WORDS = {name: number for number, name in enumerate((*_OBJECTS, GIVEN_UP, *_FUNCTIONS, *_SCALARS))}

#: The first word of each part that belongs to one entry. The method is a ``PyMethodDef`` of four words and its name,
#: which takes two; the status is the eight words of `wengert.compiler.runtime.execute`.
TEAM = len(WORDS)
METHOD = TEAM + 1
STATUS = METHOD + 6
BLOCK = STATUS + 8

#: The words of the status in which `entry_poll` keeps whether a call has polled, and how many in a row took too long.
_HAS_POLLED, _LATE = 3, 4
#: The number of calls in a row that must take too long before all are passed on: one may have waited for the processor.
_MOST_LATE = 4
#: Cycles after its first poll in which a program may end: some 200 microseconds. Python itself passes its lock on after
#: 5 milliseconds at the earliest.
_PATIENCE = 1 << 19


def pointer_to(dtype: Dtype, part: str) -> str:
    """Return the name in `WORDS` of the ``scalar`` type of a dtype, or of the ``dtype`` itself."""
    return f"{part} {SHORT_NAMES[dtype]}"


def number_word(interface: Interface, position: int) -> int:
    """Return the word for a number among the arguments and, after these, the results."""
    return BLOCK + interface.slots + position


def keys_word(signature: Signature, interface: Interface) -> int:
    """Return the first word for the keys of dicts and the classes of named tuples, behind the numbers."""
    return number_word(interface, len(signature.taken) + len(signature.returned))


def keys(signature: Signature) -> list[Any]:
    """Return the names of arguments, keys of dicts and classes of named tuples, in the order of their words."""
    inside = (key for child in signature.named.children for key in _keys(child))
    return [
        *insertion_order(signature.named),
        *_keys(signature.arguments),
        *inside,
        *_keys(signature.results),
    ]


def _keys(structure: Structure) -> Iterator[Any]:
    if structure.kind is dict:
        yield from insertion_order(structure)
    if is_record(structure):
        yield structure.kind
    for child in structure.children:
        yield from _keys(child)


def is_record(structure: Structure) -> bool:
    """Return whether a structure is a named tuple without further attributes."""
    has_more = structure.keys or structure.fixed
    return structure.kind is not None and is_namedtuple(structure.kind) and not has_more


# -- the function ----------------------------------------------------------------------------------------


def entry_ir(signature: Signature, interface: Interface, polls: bool = False) -> str:
    """Return the module of the function ``entry``, which calls the program's ``main``.

    A program that ``polls`` has loops that end by a condition, in which it calls back now and then.
    """
    text = "declare void @main(ptr, ptr) nounwind\n" + _Entry(signature, interface, polls).text()
    return text + _poll_ir() if polls else text


def _poll_ir() -> str:
    """Return the text of the function that a program calls for Ctrl-C, which may stop the program.

    The first call begins to measure the time: it moves the cycle from which the program counts, so that the next one
    follows after `_PATIENCE` cycles. That one reports an error, which ends all loops, and the entry passes the call on.
    """
    b = Builder()
    status = b.load(b.element(Value("%block", POINTER), "ptr", constant(I64, STATUS_SLOT)), POINTER, 8)
    polled, late, stop, since = (
        b.element(status, "i64", constant(I64, number)) for number in (_HAS_POLLED, _LATE, 1, 2)
    )
    is_first = b.compare("eq", b.load(polled, I64, 8), constant(I64, 0))
    earlier = b.binary("sub", b.load(since, I64, 8), constant(I64, POLL - _PATIENCE))
    b.store(earlier, since, 8)
    b.store(constant(I64, 1), polled, 8)
    is_late = b.select(is_first, constant(I64, 0), constant(I64, 1))
    for place in (status, stop):
        b.store(is_late, place, 8)
    b.store(b.binary("add", b.load(late, I64, 8), is_late), late, 8)
    b.do("ret void")
    return "\n" + b.function("define void @entry_poll(i64 %number, ptr %block) nounwind")


def _objects(structure: Structure) -> int:
    """Return the number of objects of a structure, containers included."""
    return 1 + sum(map(_objects, structure.children))


_NULL = Value("null", POINTER)


class _Entry(ObjectFunction):
    def __init__(self, signature: Signature, interface: Interface, polls: bool) -> None:
        super().__init__()
        self.signature = signature
        self.polls = polls
        self.interface = interface
        self.constants: list[str] = []
        self.objects = _objects(signature.results)
        self.made = 0
        self.next_key = keys_word(signature, interface)

    def text(self) -> str:
        b = self.b
        self.owned = self._local(self.objects)
        with b.loop(constant(I64, 0), constant(I64, self.objects)) as number:
            b.store(_NULL, b.element(self.owned, "ptr", number), 8)
        self.words = self._field(self._field(Value("%self", POINTER), OFFSETS.tuple_items), OFFSETS.data)
        if self.polls:
            most = constant(I64, _MOST_LATE)
            self._require(self.b.compare("slt", self._status(_LATE), most))
        self.given_up = self._field(self._word(GIVEN_UP), 0, I64)
        addresses = self._arguments()
        arrays = self._arrays()
        self._run(addresses, arrays)
        root = self._result(self.signature.results, self._boxed(arrays))
        b.do(f"ret {self._owned(root)}")
        self._released("again")
        self._next()
        b.label("failed")
        self._release()
        b.do("ret ptr null")
        function = b.function("define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %names) nounwind")
        return "\n".join([*self.constants, function])

    # -- fields, words and conditions --------------------------------------------------------------------

    def _word(self, name: str) -> Value:
        return self._field(self.words, 8 * WORDS[name])

    def _here(self, number: int) -> Value:
        return self._at(self.words, 8 * number)

    def _call(self, function: str, *operands: Value, result: Kind = POINTER) -> Value:
        address = self._word(function)
        return self.b.emit(f"call {result} {address.text}({', '.join(map(str, operands))})", result)

    def _do(self, function: str, item: Value) -> None:
        self.b.do(f"call void {self._word(function).text}({item})")

    def _keys(self, count: int) -> Value:
        """Return the address of the next ``count`` keys in the table."""
        self.next_key += count
        return self._here(self.next_key - count)

    def _class(self) -> Value:
        """Return the next class in the table."""
        return self._field(self._keys(1), 0)

    # -- arguments ---------------------------------------------------------------------------------------

    def _arguments(self) -> Value:
        """Check the arguments, and return the array of the addresses of the leaves."""
        structure, named = self.signature.arguments, self.signature.named
        self._require(self._is_number(Value("%count", I64), len(structure.children)))
        self._names(insertion_order(named))
        addresses, items = self._local(len(self.signature.taken)), Value("%args", POINTER)
        places = (self._at(addresses, 8 * position) for position in range(len(self.signature.taken)))
        leaves = enumerate(places)
        self._items(items, structure, leaves)
        self._items(self._at(items, 8 * len(structure.children)), named, leaves)
        return addresses

    def _names(self, names: Sequence[str]) -> None:
        """Require these names of arguments, in this order, as the same objects: equal names most often are."""
        passed = Value("%names", POINTER)
        if not names:
            self._require(self._same(passed, _NULL))
            return
        self._require(self.b.compare("ne", passed, _NULL))
        self._require(self._is_number(self._field(passed, OFFSETS.size, I64), len(names)))
        keys = self._keys(len(names))
        for number in range(len(names)):
            name = self._field(passed, OFFSETS.tuple_items + 8 * number)
            self._require(self._same(name, self._field(keys, 8 * number)))

    def _items(self, items: Value, structure: Structure, leaves: Iterator[tuple[int, Value]]) -> None:
        order = insertion_order(structure)
        for number, child in enumerate(structure.children):
            place = order.index(structure.keys[number]) if structure.kind is dict else number
            self._argument(self._field(items, 8 * place), child, leaves)

    def _argument(self, item: Value, structure: Structure, leaves: Iterator[tuple[int, Value]]) -> None:
        if structure == LEAF:
            position, place = next(leaves)
            self.b.store(self._leaf(item, position), place, 8)
        elif structure.kind is type(None):
            self._require(self._same(item, self._word("None")))
        else:
            assert structure.kind is not None
            kind = self._class() if is_record(structure) else self._word(structure.kind.__name__)
            self._require(self._same(self._type(item), kind))
            self._require(self._is_number(self._field(item, OFFSETS.size, I64), len(structure.children)))
            self._items(self._first_item(item, structure), structure, leaves)

    def _first_item(self, container: Value, structure: Structure) -> Value:
        """Return the address of the first item of a container."""
        if structure.kind is dict:
            return self._values(container, len(structure.keys))
        if structure.kind is list:
            return self._field(container, OFFSETS.list_items)
        return self._at(container, OFFSETS.tuple_items)

    def _values(self, container: Value, count: int) -> Value:
        """Return an array of the values of a dict, whose keys must be the very objects in the table, in their order.

        A look-up might call Python code, of a key of another class; a comparison of addresses does not.
        """
        b = self.b
        keys, values = self._keys(count), self._local(count)
        position, key, value, same = (self._local(1) for _ in range(4))
        for place in (position, same):
            b.store(constant(I64, 0), place, 8)
        with b.loop(constant(I64, 0), constant(I64, count)) as number:
            self._call("PyDict_Next", container, position, key, value, result=I32)
            is_key = self._same(b.load(key, POINTER, 8), b.load(b.element(keys, "ptr", number), POINTER, 8))
            b.store(b.load(value, POINTER, 8), b.element(values, "ptr", number), 8)
            b.store(b.binary("add", b.load(same, I64, 8), b.convert("zext", is_key, "i64")), same, 8)
        self._require(self._is_number(b.load(same, I64, 8), count))
        return values

    def _leaf(self, item: Value, position: int) -> Value:
        type_ = self.signature.taken[position]
        if type_.weak:
            place = self._here(number_word(self.interface, position))
            read: Callable[[Value, Value], Value] = {"f": self._float, "i": self._int, "b": self._bool}[
                type_.dtype.kind
            ]
            return read(item, place)
        if type_.shape:
            self._require(self._same(self._type(item), self._word("ndarray")))
            return self._array(item, type_)
        return self._scalar(item, type_)

    def _float(self, item: Value, _: Value) -> Value:
        self._require(self._same(self._type(item), self._word("float")))
        return self._at(item, OFFSETS.value)

    def _int(self, item: Value, place: Value) -> Value:
        """Read an integer of 64 bits. The function reports an overflow, and cannot fail on an exact int."""
        self._require(self._same(self._type(item), self._word("int")))
        number = self._call("PyLong_AsLongLongAndOverflow", item, place, result=I64)
        self._require(self._is_number(self.b.load(place, I32, 4), 0))
        self.b.store(number, place, 8)
        return place

    def _bool(self, item: Value, place: Value) -> Value:
        true = self._same(item, self._word("True"))
        self._require(self.b.either(true, self._same(item, self._word("False"))))
        self.b.store(self.b.convert("zext", true, "i8"), place, 1)
        return place

    def _scalar(self, item: Value, type_: TensorType) -> Value:
        """Read a NumPy scalar, or an array without axes."""
        b = self.b
        scalar, array, after = b.new_label("scalar"), b.new_label("array"), b.new_label("value")
        kind = self._type(item)
        b.branch_if(self._same(kind, self._word(pointer_to(type_.dtype, "scalar"))), scalar, array)
        b.label(scalar)
        inside = self._at(item, OFFSETS.value)
        b.branch(after)
        b.label(array)
        self._require(self._same(kind, self._word("ndarray")))
        data = self._array(item, type_)
        end = b.block
        b.branch(after)
        b.label(after)
        return b.phi((inside, scalar), (data, end))

    def _array(self, item: Value, type_: TensorType) -> Value:
        b = self.b
        flags = b.binary("and", self._flags(item), constant(I32, READABLE))
        fits = b.both(
            self._is_number(flags, READABLE), self._is_number(self._code(item), code_of(type_.dtype))
        )
        self._require(b.both(fits, self._is_number(self._field(item, OFFSETS.ndim, I32), type_.ndim)))
        self._require(b.either(self._is_writable(item), self._is_number(self.given_up, 0)))
        if type_.shape:
            shape = self._field(item, OFFSETS.shape)
            for axis, extent in enumerate(type_.shape):
                self._require(self._is_number(self._field(shape, 8 * axis, I64), extent))
        return self._field(item, OFFSETS.data)

    def _is_writable(self, array: Value) -> Value:
        """Return whether an array can be written to: then it was not donated."""
        writable = self.b.binary("and", self._flags(array), constant(I32, WRITABLE))
        return self._is_number(writable, WRITABLE)

    # -- results -----------------------------------------------------------------------------------------

    def _own(self, number: int, value: Value) -> None:
        """Store an object that must be released if the call fails."""
        self.b.store(value, self._at(self.owned, 8 * number), 8)

    def _owned(self, number: int) -> Value:
        return self._field(self.owned, 8 * number)

    def _new(self, value: Value) -> int:
        """Return the number of a new object; fail if it is null."""
        number, self.made = self.made, self.made + 1
        self._require(self.b.compare("ne", value, _NULL), "failed")
        self._own(number, value)
        return number

    def _arrays(self) -> dict[int, int]:
        """Make the arrays of the results; first of all, since making objects may run Python code."""
        made: dict[int, int] = {}
        null, zero = _NULL, constant(I32, 0)
        for position, type_ in enumerate(self.signature.returned):
            if type_.shape:
                name = f"@entry_shape{position}"
                extents = ", ".join(f"i64 {extent}" for extent in type_.shape)
                self.constants.append(
                    f"{name} = private unnamed_addr constant [{type_.ndim} x i64] [{extents}], align 8"
                )
                ndim, number = constant(I32, type_.ndim), constant(I32, type_.dtype.num)
                shape = Value(name, POINTER)
                arguments = (self._word("ndarray"), ndim, shape, number, null, null, zero, zero, null)
                made[position] = self._new(self._call("PyArray_New", *arguments))
        return made

    def _run(self, addresses: Value, arrays: Mapping[int, int]) -> None:
        """Run the program; if it reports an error, pass the call on: the next callable raises the error."""
        b = self.b
        count = len(self.interface.inputs)
        assert self.interface.inputs == tuple(range(FIRST, FIRST + count))
        with b.loop(constant(I64, 0), constant(I64, count)) as number:
            address = b.load(b.element(addresses, "ptr", number), POINTER, 8)
            b.store(address, b.element(self._here(BLOCK + FIRST), "ptr", number), 8)
        for position, number in arrays.items():
            data = self._field(self._owned(number), OFFSETS.data)
            b.store(data, self._here(BLOCK + self.interface.outputs[position]), 8)
        team = self._field(self.words, 8 * TEAM)
        block = self._here(BLOCK)
        if self.polls:
            for number in (1, 2, _HAS_POLLED):
                b.store(constant(I64, 0), self._here(STATUS + number), 8)
        b.do(f"call void @main({block}, {team})")
        self._require(self._is_number(self._status(0), 0), "again")
        if self.polls:
            b.store(constant(I64, 0), self._here(STATUS + _LATE), 8)

    def _status(self, number: int) -> Value:
        return self._field(self.words, 8 * (STATUS + number), I64)

    def _boxed(self, arrays: Mapping[int, int]) -> Iterator[int]:
        """Return the objects of the leaves; those of numbers are made before any container."""
        objects: list[int] = []
        for position, type_ in enumerate(self.signature.returned):
            if type_.shape:
                objects.append(arrays[position])
            else:
                place = self._here(number_word(self.interface, len(self.signature.taken) + position))
                objects.append(self._new(self._number(place, type_)))
        return iter(objects)

    def _number(self, place: Value, type_: TensorType) -> Value:
        if not type_.weak:
            dtype = self._word(pointer_to(type_.dtype, "dtype"))
            return self._call("PyArray_Scalar", place, dtype, _NULL)
        match type_.dtype.kind:
            case "f":
                return self._call("PyFloat_FromDouble", self.b.load(place, Kind("double"), 8))
            case "i":
                return self._call("PyLong_FromLongLong", self.b.load(place, I64, 8))
            case _:
                truth = self.b.convert("zext", self.b.load(place, Kind("i8"), 1), "i64")
                return self._call("PyBool_FromLong", truth)

    def _result(self, structure: Structure, leaves: Iterator[int]) -> int:
        """Put the objects into containers, and return the number of the outermost."""
        if structure == LEAF:
            return next(leaves)
        if structure.kind is type(None):
            none = self._word("None")
            self._do("Py_IncRef", none)
            return self._new(none)
        if structure.kind is dict:
            return self._dict(structure, leaves)
        if is_record(structure):
            return self._record(structure, leaves)
        parts = [self._result(child, leaves) for child in structure.children]
        new = "PyList_New" if structure.kind is list else "PyTuple_New"
        container = self._new(self._call(new, constant(I64, len(parts))))
        if parts:
            items = self._first_item(self._owned(container), structure)
            for number, part in enumerate(parts):
                self.b.store(self._owned(part), self._at(items, 8 * number), 8)
                self._own(part, _NULL)
        return container

    def _dict(self, structure: Structure, leaves: Iterator[int]) -> int:
        keys = self._keys(len(structure.keys))
        parts = [self._result(child, leaves) for child in structure.children]
        container = self._new(self._call("PyDict_New"))
        for place, name in enumerate(insertion_order(structure)):
            number = structure.keys.index(name)
            part = self._owned(parts[number])
            pair = (self._field(keys, 8 * place), part)
            done = self._call("PyDict_SetItem", self._owned(container), *pair, result=I32)
            self._require(self._is_number(done, 0), "failed")
            self._do("Py_DecRef", part)  # now the dict's
            self._own(parts[number], _NULL)
        return container

    def _record(self, structure: Structure, leaves: Iterator[int]) -> int:
        """Call the class of a named tuple."""
        kind = self._class()
        parts = [self._result(child, leaves) for child in structure.children]
        items = self._local(len(parts))
        for number, part in enumerate(parts):
            self.b.store(self._owned(part), self._at(items, 8 * number), 8)
        made = self._call("PyObject_Vectorcall", kind, items, constant(I64, len(parts)), _NULL)
        container = self._new(made)
        for part in parts:
            self._do("Py_DecRef", self._owned(part))  # now the tuple's
            self._own(part, _NULL)
        return container

    # -- other exits -------------------------------------------------------------------------------------

    def _released(self, label: str) -> None:
        """Begin the block that passes on a call that reported an error."""
        self.b.label(label)
        self.b.store(constant(I64, 0), self._here(STATUS), 8)
        self._release()
        self.b.branch("other")

    def _release(self) -> None:
        """Release the new objects; `Py_DecRef` ignores null.

        The loop keeps the objects in memory. Each would need a register for each path to the end, and a program with
        many results would take minutes to compile.
        """
        b = self.b
        with b.loop(constant(I64, 0), constant(I64, self.objects)) as number:
            self._do("Py_DecRef", b.load(b.element(self.owned, "ptr", number), POINTER, 8))

    def _next(self) -> None:
        """Pass the call on."""
        self.b.label("other")
        following = self._field(Value("%self", POINTER), OFFSETS.tuple_items + 8)
        function = self._word("PyObject_Vectorcall")
        call = f"tail call ptr {function.text}({following}, ptr %args, i64 %count, ptr %names)"
        self.b.do(f"ret {self.b.emit(call, POINTER)}")

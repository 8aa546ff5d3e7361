"""Calls of routines of BLAS and LAPACK as native functions.

The program names the routines as symbols, so that the code holds no address: each process links them anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.codegen.interface import SERIAL, symbol
from wengert.compiler.codegen.module_builder import ModuleBuilder
from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.engine.core.blas_threads import PACKAGES
from wengert.engine.machine import costs
from wengert.engine.nest.nest import Call
from wengert.engine.nest.routine import Argument, Given, Made, Memory, Stride

_I8, _I32 = Kind("i8"), Kind("i32")


def emit_call(name: str, step: Call, module: ModuleBuilder) -> None:
    """Emit the function of a call: it takes the addresses of the operands, the results and the memory."""
    module.routines.add(step.calls.call.name)
    count = len(step.operands) + len(step.outputs)
    arrays = [Value(f"%x{number}", POINTER) for number in range(count)]
    emitter = _Emitter(step, arrays)
    emitter.all_matrices()
    emitter.builder.do("ret void")
    parameters = ", ".join(f"ptr {array.text}" for array in (*arrays, _MEMORY))
    module.add(name, module.define(name, parameters, emitter.builder))


_MEMORY = Value("%memory", POINTER)


class _Emitter:
    """Emits the function of one call."""

    def __init__(self, step: Call, arrays: Sequence[Value]) -> None:
        self.step, self.arrays = step, arrays
        self.builder = Builder()

    def all_matrices(self) -> None:
        """Call the routine for each matrix of the stack."""
        b, calls = self.builder, self.step.calls
        real = Kind("float" if calls.call.name[0] == "s" else "double")
        numbers = [self._in_memory(argument, real) for argument in calls.call.arguments]
        package = constant(I64, PACKAGES.index("scipy"))
        serial = not calls.call.is_product and calls.call.work < costs.COSTS.serial_blas_work
        if serial:
            b.call(SERIAL[0], package, result=None)
        with b.loop(constant(I64, 0), constant(I64, calls.matrices)) as number:
            places = [self._matrix(k, number) for k in range(len(self.arrays))]
            for source, target in calls.call.copies:
                size = constant(I64, calls.sizes[source])
                to = places[len(self.step.operands) + target]
                b.call(
                    "llvm.memcpy.p0.p0.i64", to, places[source], size, Value("false", Kind("i1")), result=None
                )
            passed = [
                address or self._address(argument, places)
                for address, argument in zip(numbers, calls.call.arguments, strict=True)
            ]
            b.call(symbol(calls.call.name), *passed, result=None)
        if serial:
            b.call(SERIAL[1], package, result=None)

    def _in_memory(self, argument: Argument, real: Kind) -> Value | None:
        """Return the address of a number or a letter."""
        match argument:
            case str():
                value = constant(_I8, ord(argument))
            case float():
                value = constant(real, argument)
            case int():
                value = constant(_I32, argument)
            case _:
                return None
        address = self.builder.emit(f"alloca {value.kind}, align 8", POINTER)
        self.builder.store(value, address, 8)
        return address

    def _address(self, argument: Argument, places: Sequence[Value]) -> Value:
        match argument:
            case Given(number):
                return places[number]
            case Made(number):
                return places[len(self.step.operands) + number]
            case Memory(offset):
                return self.builder.element(_MEMORY, "i8", constant(I64, offset))
            case _:
                raise AssertionError(argument)

    def _matrix(self, array: int, number: Value) -> Value:
        """Return the address of the matrix of an array for the call with a number."""
        calls, b = self.step.calls, self.builder
        place = self.arrays[array]
        for axis in calls.strides[array]:
            size = constant(I64, axis.stride * calls.sizes[array])
            place = b.element(place, "i8", b.binary("mul", self._along(axis, number), size))
        return place

    def _along(self, axis: Stride, number: Value) -> Value:
        """Return the place of a call along an axis."""
        b, count = self.builder, self.step.calls.matrices
        if axis.divisor > 1:
            number = b.binary("udiv", number, constant(I64, axis.divisor))
        if axis.divisor * axis.extent < count:
            number = b.binary("urem", number, constant(I64, axis.extent))
        return number

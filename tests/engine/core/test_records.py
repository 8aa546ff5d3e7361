"""Records against dataclasses of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any, ClassVar

import pytest

from wengert.engine.core.records import record


class Base:
    __slots__ = ("cached",)


@record(eq=True)
class Slotted(Base):
    x: int
    y: Any = 3
    z: list[int] = dataclasses.field(default_factory=list[int])
    kind: ClassVar[str] = "slotted"


@dataclasses.dataclass(frozen=True, slots=True)
class Plain(Base):
    x: int
    y: Any = 3
    z: list[int] = dataclasses.field(default_factory=list[int])


@record(slots=False)
class Open:
    x: int
    y: int = 4


@record(slots=False)
class Derived(Open):
    w: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.w)


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 2), {}),
    ((1, 2, []), {}),
    ((), {"x": 1}),
    ((1,), {"z": [7]}),
    ((), {"z": [], "y": None, "x": (1,)}),
]


@pytest.mark.parametrize(("args", "kwargs"), ARGUMENTS)
def test_fields_are_those_of_a_dataclass(args: Any, kwargs: Any) -> None:
    made, plain = Slotted(*args, **kwargs), Plain(*args, **kwargs)
    assert [made.x, made.y, made.z] == [plain.x, plain.y, plain.z]
    assert repr(made) == repr(plain).replace("Plain", "Slotted")
    assert dataclasses.asdict(made) == dataclasses.asdict(plain)  # pyright: ignore[reportArgumentType]
    assert dataclasses.replace(made, y=9) == Slotted(made.x, 9, made.z)  # pyright: ignore[reportArgumentType, reportCallIssue]
    match made:
        case Slotted(x, y, z):
            assert [x, y, z] == [plain.x, plain.y, plain.z]


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 1}), ((1,), {"u": 1})]
)
def test_wrong_arguments_are_refused(args: Any, kwargs: Any) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            Slotted(*args, **kwargs)


def test_equality_and_hashes_are_those_of_a_dataclass() -> None:
    values: list[tuple[Any, Any]] = [(1, 2), (1, 3), (2, 2), (True, 2.0), ((1,), 2)]
    for one in values:
        for other in values:
            assert (Slotted(*one) == Slotted(*other)) == (Plain(*one) == Plain(*other))
    assert Slotted(1) != Plain(1)
    nan = float("nan")  # dataclasses compare it as an element of a tuple, or from Python 3.13 on by itself
    assert Slotted(nan) == Slotted(nan)
    key = Slotted(1, 2, ())  # pyright: ignore[reportArgumentType]
    assert hash(key) == hash(Slotted(1.0, 2, ())) == hash((1, 2, ()))  # pyright: ignore[reportArgumentType]
    assert Open(1) != Open(1)
    assert hash(Open(1)) != hash(Open(2)) or Open(1) is not Open(2)


def test_a_derived_record_has_the_fields_of_its_base_and_its_own() -> None:
    derived = Derived(1, w=3)
    assert repr(derived) == "Derived(x=1, y=4, w=3)"
    assert vars(derived)["double"] == 6
    assert repr(Open(7)) == "Open(x=7, y=4)"


def test_records_are_frozen_and_have_slots() -> None:
    made = Slotted(1)
    for name in ("x", "new"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.x  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(made, "__dict__")
    assert vars(Open(1)) == {"x": 1, "y": 4}


@pytest.mark.parametrize("made", [Slotted(1, "two", [3]), Derived(1, 2, 3)])
def test_copies_have_the_same_fields(made: Any) -> None:
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(again) is type(made)
        assert dataclasses.asdict(again) == dataclasses.asdict(made)


def test_defaults_are_not_shared_among_instances() -> None:
    Slotted(1).z.append(5)
    assert Slotted(1).z == []


def test_methods_are_compiled_at_their_first_call() -> None:
    @record(eq=True)
    class Late:
        x: int

    before = vars(Late)["__init__"]
    assert Late(1) == Late(1)
    assert vars(Late)["__init__"] is not before
    assert vars(Late)["__init__"].__qualname__.endswith("Late.__init__")


@record
class Counted:
    x: int
    count: list[int] = dataclasses.field(default_factory=list[int], init=False)
    y: int = 2


def test_fields_that_are_no_parameters() -> None:
    counted = Counted(1, 5)
    assert (counted.x, counted.count, counted.y) == (1, [], 5)
    counted.count.append(3)
    assert dataclasses.replace(counted, x=2).count == []
    with pytest.raises(TypeError):
        Counted(1, count=[2])  # pyright: ignore[reportCallIssue]


class Named(Slotted):
    def __init__(self, name: str) -> None:
        super().__init__(len(name))


def test_signatures() -> None:
    ours, theirs = (inspect.signature(kind).parameters for kind in (Slotted, Plain))
    assert [*ours] == [*theirs]
    assert [p.default is p.empty for p in ours.values()] == [p.default is p.empty for p in theirs.values()]
    assert list(inspect.signature(Counted).parameters) == ["x", "y"]
    assert list(inspect.signature(Named).parameters) == ["name"]

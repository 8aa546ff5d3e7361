"""Containers of functions and objects that a program changes in a second run: its own hold what Python's would."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.guard_programs import loaded

_HEAD = """
import copy, math, types, weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
class K:
    def __init__(self, n): self.n, self.__name__ = n, f"k{n}"
    def __call__(self, x): return math.sin(x * self.n)
def a(x): return math.exp(-x)
def b(x): return math.sin(x) * 2.0
class Held:
    def __init__(self, **held): self.__dict__.update(held)
c, d, e = K(1.0), K(2.0), K(3.0)
def name(one): return one.__name__ if callable(one) else one
"""
#: Each kind: the container, what changes it, and its elements.
_SEQUENCE = """H.append({u})
H.extend([{u}, {v}])
H.insert({n}, {u})
H.remove(H[0])
H.pop()
H.reverse()
H[0] = {u}
H += [{u}]
H *= 2
del H[0]
H.index(H[-1])
H.append(H[0])""".splitlines()
_LIST = ["H[0:1] = [{u}, {v}]", "H.sort(key=name)", "del H[1:]", "H.pop(0)", "H = H + [{u}]; B['h'] = H"]
_COPIES = [
    "H = H.copy(); B['h'] = H",
    "B['h'] = B['first'] = H = copy.copy(H)",
    "B['h'] = [H]; H = B['h'][0]; B['h'] = H",
]
_QUEUE = ["H.appendleft({u})", "H.extendleft([{u}, {v}])", "H.rotate({n})", "H.popleft()", "H.count({u})"]
_TABLE = """H[{u}] = {v}
H.pop({u}, None)
H.setdefault({u}, {v})
H.update({{{u}: {v}}})
H.popitem() if len(H) else None
H.clear()
H.pop({u}) if {u} in H else None
H[{u}] = H.get({v}, {u})""".splitlines()
_MERGED = ["H |= {{{u}: {v}}}", "H = H | {{{u}: {v}}}; B['h'] = H"]
_SET = """H.add({u})
H.discard({u})
H.update([{u}, {v}])
H |= {{{u}}}
H &= {{{u}, {v}}}
H -= {{{v}}}
B['h'] = H = H | {{{u}}}
B['h'] = H = H - {{{v}}}
B['h'] = H = {{{u}}} | H
B['h'] = H = H.union([{v}])
H ^= {{{u}}}
H.clear()""".splitlines()
_KINDS: dict[str, Any] = {
    "[a, b, c]": _SEQUENCE + _LIST,
    "deque([a, c, d])": _SEQUENCE + _QUEUE,
    "deque([a, c], maxlen=3)": ["H.append({u})", *_QUEUE],
    "UserList([a, c])": _SEQUENCE,
    "{a: c, c: b}": _TABLE + _MERGED,
    "UserDict({a: c, c: b})": _TABLE,
    "ChainMap({a: c}, {d: b})": _TABLE[:4] + _TABLE[7:],
    "OrderedDict({a: c, d: b})": [*_TABLE, *_MERGED, "H.move_to_end(next(iter(H))) if len(H) else None"],
    "defaultdict(K(4.0).__class__, {a: c})": [t for t in _TABLE if "pop({u}, None" not in t],
    "Counter({a: 2, c: 1})": [
        "H[{u}] += 1",
        "H.update([{u}, {v}])",
        "H.subtract([{u}])",
        "H += Counter([{u}])",
        "H.pop({u}, 0)",
    ],
    "weakref.WeakKeyDictionary({a: c, c: b})": _TABLE[:4] + _TABLE[5:],
    "weakref.WeakValueDictionary({a: c, d: b})": _TABLE[:4] + _TABLE[5:],
    "{a, c}": _SET,
    "weakref.WeakSet([a, c])": _SET,
    "types.SimpleNamespace(p=a, q=c)": [
        "H.p = {u}",
        "H.q, H.p = H.p, H.q",
        "setattr(H, 'r', {v})",
        "del H.q; H.q = {u}",
    ],
    "Held(p=a, q=c)": [
        "H.p = {u}",
        "H.q, H.p = H.p, H.q",
        "setattr(H, 'r', {v})",
        "del H.q; H.q = {u}",
    ],
}
_READ = """
def elements(H):
    if isinstance(H, (types.SimpleNamespace, Held)): return [one for pair in sorted(vars(H).items()) for one in pair]
    keys = list(H)
    if hasattr(H, "items"): keys = [one for key in keys for one in (key, H[key])]
    return sorted(keys, key=name) if isinstance(H, (set, weakref.WeakSet)) else keys
"""


def drawn(seed: int) -> dict[str, Any]:
    """Return the names of a program that changes a container."""
    random_ = random.Random(seed)
    kind = random_.choice(list(_KINDS))
    lines = [_HEAD + _READ, f"B = {{'h': {kind}}}", "def program(x):", "    total, H = math.exp(x), B['h']"]
    changes = _KINDS[kind] + ([] if "p=a" in kind else _COPIES)
    for _ in range(random_.randint(1, 6)):
        u, v = random_.choices("abcde", k=2)
        lines.append("    " + random_.choice(changes).format(u=u, v=v, n=random_.randint(0, 2)))
        lines.append("    for n, one in enumerate(elements(H)):")
        lines.append("        total = total + (one(x) if callable(one) else len(str(one)) * x) / (n + 1)")
    return vars(loaded("drawn_containers", "\n".join([*lines, "    return total", ""])))


def check(seed: int) -> None:
    plain, followed = drawn(seed), drawn(seed)
    try:
        value = plain["program"](0.3)
    except (IndexError, KeyError, TypeError, ValueError) as problem:
        with pytest.raises(type(problem)):
            wg.grad(followed["program"])(0.3)
        return
    found, slope = wg.value_and_grad(followed["program"])(0.3)
    np.testing.assert_allclose(found, value, rtol=1e-12, err_msg=f"program {seed}")
    fresh = drawn(seed), drawn(seed)
    step = 1e-6
    difference = (fresh[0]["program"](0.3 + step) - fresh[1]["program"](0.3 - step)) / (2 * step)
    np.testing.assert_allclose(slope, difference, rtol=1e-5, atol=1e-7, err_msg=f"program {seed}")
    elements, wanted = (names["elements"](names["B"]["h"]) for names in (followed, plain))
    assert list(map(plain["name"], elements)) == list(map(plain["name"], wanted)), seed
    known = [followed[name] for name in "abcde"]
    assert all(
        any(one is other for other in known) for one in elements if callable(one) and type(one) is not type
    ), seed


@pytest.mark.parametrize("start", [pytest.param(0, marks=pytest.mark.exhaustive), 20])
def test_what_a_program_changes_holds_the_users_own(start: int) -> None:
    for seed in range(start, start + 20):
        check(seed)


@pytest.mark.slow
def test_what_many_programs_change_holds_the_users_own() -> None:
    for seed in range(1000, 2000):
        check(seed)

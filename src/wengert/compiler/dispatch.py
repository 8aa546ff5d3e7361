"""The specialisations of a function: a call finds or makes one by its types; the least recently used are freed."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wengert.compiler.compile_log import Patience, is_often, log_compiled, log_recompiled, warn_of_none
from wengert.compiler.runtime import arguments
from wengert.compiler.runtime.arguments import Given
from wengert.compiler.runtime.fastcall import entry
from wengert.compiler.specialisation import MISFIT, Specialisation
from wengert.compiler.static_and_donated import Roles
from wengert.compiler.unit import Options
from wengert.engine.boxes import Box, own
from wengert.engine.core import tree
from wengert.engine.core.dtypes import NDARRAY
from wengert.engine.core.errors import ArgumentError, is_of_program, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.raised import is_staged
from wengert.engine.transforms.frozen_random import Draws
from wengert.engine.transforms.substitution import attempt, current

#: The number of specialisations that a function keeps.
VARIABLE = "WENGERT_SPECIALISATIONS"
_USUAL = 256
CALLS_BEFORE_ENTRY = 32
"""The calls of a specialisation until it has an entry, which takes LLVM ten milliseconds or more."""
_MOST_ENTRIES = 16
"""The most entries that a call tries, the newest first."""


def most_specialisations() -> int:
    """Return how many specialisations a function keeps: ``WENGERT_SPECIALISATIONS``, or 256."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return _USUAL
    if not (text.isascii() and text.isdigit() and int(text)):
        requirement = "how many specialisations a function keeps must be an integer of at least 1"
        raise ArgumentError(message(VARIABLE, requirement, repr(text)))
    return int(text)


class Served(NamedTuple):
    """The path of the last call, which the next one mostly repeats."""

    static: tuple[Any, ...]
    take: Callable[[Any, list[Any]], bool]
    """Flattens the arguments that are not static, if they are in the same containers."""
    specialisation: Specialisation
    types: tuple[Any, ...]
    """Of the leaves, as `arguments.types_of` returns them."""

    def fits(self, static: tuple[Any, ...], containers: tuple[Any, Any], leaves: list[Any]) -> bool:
        """Return whether a call has the same static arguments and containers; append its leaves."""
        same = len(static) == len(self.static) and all(map(arguments.is_same, static, self.static))
        return same and self.take(containers, leaves)


class Traced(NamedTuple):
    """A specialisation, and the arguments for which it was looked up."""

    specialisation: Specialisation
    request: Given
    paths: list[str]
    """The place of each leaf of the arguments, as ``params['w']``."""
    donated: list[int]
    """The positions of the leaves of donated arguments, numbers among them."""


class Dispatch:
    """Finds the specialisation for a call, or makes it.

    It keeps `most_specialisations`, and frees the least recently used ones beyond these, with their native code. A
    running call holds its own specialisation. Threads take no lock: a thread that has stored a reference to a
    specialisation checks afterwards whether the dispatch still holds it, and removes the reference if not. The compiled
    function, its ``owner``, holds the dispatch, which refers to it weakly, so both are freed at once.
    """

    def __init__(self, owner: Any, function: Callable[..., Any], roles: Roles, options: Options) -> None:
        self.function = function
        self.roles = roles
        self.options = options
        self._owner = weakref.ref(owner)
        self._known: dict[Any, Specialisation] = {}
        self._newest: dict[Any, Served] = {}
        self._last: Served | None = None
        self._entries: dict[Specialisation, entry.Watch | None] = {}
        self._made = 0
        self._patience = Patience(function)
        self._draws = Draws("jit", function)

    def __len__(self) -> int:
        return len(self._known)

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Execute a call that no entry serves."""
        if kwargs:
            args, kwargs = self.roles.in_places(args, kwargs)
        static, dynamic = self.roles.divided(args, kwargs)
        last, misfit = self._last, None
        leaves: list[Any] = []
        if last is not None and last.fits(static, dynamic, leaves):
            misfit = last.specialisation
            if (result := misfit.at_once(leaves)) is not MISFIT:
                self._count(misfit)
                return result
            if arguments.types_of(leaves) == last.types:  # an integer, say, or an array that must be copied
                self._count(misfit)
                return misfit(leaves)
        leaves, structure = tree.flatten(dynamic)
        outer = arguments.outer_key_of(structure, static)
        newest = self._newest_for(outer)
        if newest is not None:
            self._last = newest
            served = newest.specialisation
            if served is not misfit and (result := served.at_once(leaves)) is not MISFIT:
                self._count(served)
                return result
        request = self._given(static, leaves, structure, outer)
        if request is None:
            return self._followed(args, kwargs)
        specialisation = self._known.get(request.key) or self._specialised(request, args, kwargs)
        if specialisation.captured:  # it depends on a value that another transform follows
            return self._followed(args, kwargs)
        if not specialisation.is_loaded:
            if sys.meta_path is None:  # pyright: ignore[reportUnnecessaryComparison]  # the interpreter ends
                return self._followed(args, kwargs)
            self._load(specialisation, request)
        self._serve(specialisation, request, newest.take if newest is not None else tree.taker(structure))
        return specialisation(request.leaves)

    def _followed(self, args: Any, kwargs: Any) -> Any:
        """Call the function itself inside another transform."""
        function = self.function
        return attempt(function, lambda: tree.map_tree(own, current(function, args, kwargs)(*args, **kwargs)))

    def traced(self, args: Any, kwargs: Any) -> Traced:
        """Return the specialisation for some arguments, which may not be compiled yet, and their leaves."""
        args, kwargs = self.roles.in_places(args, kwargs)
        static, dynamic = self.roles.divided(args, kwargs)
        leaves, structure = tree.flatten(dynamic)
        request = self._given(static, leaves, structure, arguments.outer_key_of(structure, static))
        if request is None:
            raise ArgumentError(
                message("jit", "inside another transform there is nothing compiled to look at")
            )
        specialisation = self._known.get(request.key) or self._specialised(request, args, kwargs)
        paths = arguments.paths_of(self.function, structure, self.roles.static)
        return Traced(specialisation, request, paths, self.roles.donated_leaves(structure, args, kwargs))

    def _newest_for(self, outer: Any) -> Served | None:
        """Return the path of the last call with these containers and static arguments, whatever its leaves."""
        try:
            return self._newest.get(outer)
        except TypeError:  # what has no hash is refused elsewhere
            return None

    def _given(
        self, static: tuple[Any, ...], leaves: list[Any], structure: tree.Structure, outer: Any
    ) -> Given | None:
        """Return the arguments with the key of the specialisation; None inside another transform."""
        for leaf in leaves:
            if isinstance(leaf, Box):
                return None
        try:
            return Given(leaves, structure, static, arguments.key_of(leaves, outer))
        except TypeError:
            raise arguments.unusable(self.function, leaves, structure, static, self.roles.static) from None

    # -- making ------------------------------------------------------------------------------------------

    def _specialised(self, request: Given, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Specialisation:
        bound = most_specialisations()
        self.roles.check(len(args))
        donated = [
            place
            for place in self.roles.donated_leaves(request.structure, args, kwargs)
            if isinstance(request.leaves[place], NDARRAY)
        ]
        with self._patience.with_tracing(), self._draws.watched(*request.static):
            try:
                specialisation = attempt(
                    self.function,
                    lambda: Specialisation(self.roles.call, request, donated, self.options),
                    traces=True,
                )
            except Exception as problem:
                if is_staged(problem) and is_of_program(problem):
                    self._raise_earlier(args, kwargs)
                raise
        if specialisation.outputs.kind is type(None):
            names = arguments.paths_of(self.function, request.structure, self.roles.static)
            warn_of_none(self.function, [names[n] for n in specialisation.written])
        if not specialisation.captured:
            self._made += 1
            self._known[request.key] = specialisation
            self._keep(bound, specialisation)
        return specialisation

    def _raise_earlier(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raise the exception that Python raises, of which the trace does not know whether it comes first."""
        try:
            self.function(*args, **kwargs)
        except Exception as first:
            if is_of_program(first):
                raise first from None

    def _load(self, specialisation: Specialisation, request: Given) -> None:
        with self._patience.with_compiling(specialisation.graph):
            specialisation.load()
        others = [key for key, entry in list(self._known.items()) if entry is not specialisation]

        def why() -> str:
            return arguments.difference(self.function, others[-1], request, self.roles.static)

        log_compiled(
            self.function, arguments.show_types(request.leaves), specialisation, why if others else None
        )
        if others and is_often(self._made - 1):
            log_recompiled(self.function, self._made, why())

    def _serve(self, version: Specialisation, request: Given, take: Callable[[Any, list[Any]], bool]) -> None:
        """Let later calls of the same kind find a specialisation quickly."""
        self._last = self._newest[request.outer_key] = Served(request.static, take, version, request.key[0])
        if self._known.get(request.key) is not version:  # another thread has freed it meanwhile
            self._forget(version)
        self._count(version)

    def _count(self, version: Specialisation) -> None:
        """Count a call that no entry has served; give a specialisation that is called often an entry."""
        version.calls += 1
        entries = self._entries
        if version.calls < CALLS_BEFORE_ENTRY or version in entries or len(entries) >= _MOST_ENTRIES:
            return
        entries[version] = None
        self._put_before([version])
        if not any(known is version for known in list(self._known.values())):  # as above
            self._forget(version)

    def _put_before(self, specialisations: Sequence[Specialisation], *, anew: bool = False) -> None:
        """Put the entries of specialisations before those that calls try or, with ``anew``, in their place."""
        owner = self._owner()
        if owner is None:
            return
        call = self.call if anew else owner.__call__
        for version in specialisations:
            compiled = version.compiled
            library = compiled.entry_library
            if version.signature is None or library is None:
                continue
            call = entry.make(version.signature, compiled.executable, library, call)
            self._entries[version] = entry.Watch(call, version.signature)
        owner.__call__ = call

    # -- freeing -----------------------------------------------------------------------------------------

    def _keep(self, bound: int, newest: Specialisation) -> None:
        """Free the least recently used specialisations beyond a number of them."""
        while len(self._known) > bound:
            for version, watch in list(self._entries.items()):
                if watch is not None and watch.has_served():
                    version.touch()
            others = [(key, entry) for key, entry in list(self._known.items()) if entry is not newest]
            if not others:
                return
            key, oldest = min(others, key=lambda pair: pair[1].last_use)
            self._known.pop(key, None)
            self._forget(oldest)

    def _forget(self, version: Specialisation) -> None:
        """Drop every reference to a specialisation that is no longer known."""
        for key, served in list(self._newest.items()):
            if served.specialisation is version:
                self._newest.pop(key, None)
        last = self._last
        if last is not None and last.specialisation is version:
            self._last = None
        if version in self._entries:
            self._entries.pop(version, None)
            self._put_before(list(self._entries), anew=True)

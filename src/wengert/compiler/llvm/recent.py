"""The newest modules of this process, compiled: programs of similar functions, such as two fits, share modules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from wengert.engine.machine.target import Target

#: The most bytes of a generation. Most modules take 5 to 50 thousand.
_GENERATION = 1 << 20


class Recent:
    """Keeps object code by module, in two generations: a new one takes the place of the older one.

    Any thread may use it without a lock: two threads that compile the same module do so twice.
    """

    def __init__(self, bound: int = _GENERATION) -> None:
        self._bound = bound
        self._young: dict[tuple[bytes, Target], bytes] = {}
        self._old: dict[tuple[bytes, Target], bytes] = {}
        self._size = 0

    def code(self, ir_text: str, target: Target, compiled: Callable[[], bytes]) -> bytes:
        """Return the code of a module: of one of the newest modules, or what ``compiled`` returns.

        Example:
            >>> from wengert.compiler.llvm.host import host
            >>> recent = Recent()
            >>> (
            ...     recent.code("module", host(), lambda: b"code"),
            ...     recent.code("module", host(), lambda: b"other"),
            ... )
            (b'code', b'code')
        """
        key = hashlib.sha256(ir_text.encode()).digest(), target
        code = self._young.get(key)
        if code is None:
            code = self._old.get(key)
            if code is None:
                code = compiled()
            self._keep(key, code)
        return code

    def _keep(self, key: tuple[bytes, Target], code: bytes) -> None:
        if len(code) > self._bound:
            return
        self._size += len(code)
        if self._size > self._bound:
            self._old, self._young, self._size = self._young, {}, len(code)
        self._young[key] = code


RECENT = Recent()

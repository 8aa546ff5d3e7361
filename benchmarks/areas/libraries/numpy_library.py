"""NumPy itself, for values of programs that it has all functions of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from areas.families import Case
from areas.libraries.library import Library, Namespace, Unsupported


class NumPyLibrary(Library):
    """NumPy."""

    namespace = Namespace(np)

    def function(self, case: Case) -> Callable[..., Any]:
        if case.derivative:
            raise Unsupported(case.derivative)
        return partial(case.program, self.namespace)


LIBRARY = NumPyLibrary()

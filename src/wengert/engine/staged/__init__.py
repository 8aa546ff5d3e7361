"""Staged runs: copies of the user's functions whose branches and loops become part of a traced program."""

import functools
import operator

from wengert.engine.boxes import WINDOWS
from wengert.engine.staged import raising, selected_functions
from wengert.engine.staged.arranged import sorting
from wengert.engine.staged.branches import (
    argument,
    both,
    both_hold,
    certain,
    chain,
    choice,
    clear,
    either,
    either_holds,
    given,
    if_,
    negation,
    opposite,
    result,
    same,
    sure,
)
from wengert.engine.staged.counted import interval, window
from wengert.engine.staged.iterables import builtin, fold, listed
from wengert.engine.staged.loops import for_, while_
from wengert.engine.staged.searched import contains, differs, equals, ordered
from wengert.engine.staged.sources import staged_code
from wengert.engine.staged.subscripts import Target, item
from wengert.engine.transforms.builtin_names import BUILTINS
from wengert.engine.transforms.divided import INTERVALS
from wengert.engine.transforms.rewriting_run import STAGING, Staging

_CALLED = {
    "and": both,
    "and_test": both_hold,
    "argument": argument,
    "bound": sure,
    "builtin": builtin,
    "certain": certain,
    "chain": chain,
    "choice": choice,
    "clear": clear,
    "fold": fold,
    "listed": listed,
    "for": for_,
    "given": given,
    "greater": functools.partial(ordered, operator.gt),
    "greater_equal": functools.partial(ordered, operator.ge),
    "if": if_,
    "in": contains,
    "is": same,
    "differs": differs,
    "element": item,
    "equals": equals,
    "less": functools.partial(ordered, operator.lt),
    "less_equal": functools.partial(ordered, operator.le),
    "not": opposite,
    "not_test": negation,
    "or": either,
    "or_test": either_holds,
    "result": result,
    "slice": slice,
    "sorting": sorting,
    "target": Target,
    "texts": raising.messages,
    "trying": raising.trying,
    "while": while_,
}
BUILTINS.update({f"__wengert_{name}__": function for name, function in _CALLED.items()})
WINDOWS.append(window)
INTERVALS.append(interval)
STAGING.append(Staging(staged_code, raising.scope, raising.checked))

__all__ = ["builtin", "for_", "if_", "selected_functions", "staged_code", "while_"]

"""Python's garbage collector around imports."""

from __future__ import annotations

import gc

from wengert.engine.core.garbage import loading_modules


def test_what_lives_after_an_import_is_old_and_not_frozen() -> None:
    made: list[list[int]] = []
    with loading_modules():
        assert not gc.isenabled()
        made.append([1])
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    assert not any(made is one for one in gc.get_objects(generation=0))
    assert any(made is one for one in gc.get_objects())


def test_what_a_program_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with loading_modules():
            pass
        assert gc.get_freeze_count() >= frozen - 100  # what reference counts free
    finally:
        gc.unfreeze()

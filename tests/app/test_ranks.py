"""A rank in its own process: what it says and does when it fails. Jobs of several ranks are in train/test_ranks.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from wengert.app import ranks
from wengert.parallel import Group
from wengert.parallel.launch import JOB


class LostError(RuntimeError):
    """Stands for the error of MPI about a process that has died."""

    __module__ = "mpi4py.MPI"


@pytest.fixture
def aborted(monkeypatch):
    """Make this process the second of two ranks, and return the codes with which it ends all of them."""
    codes: list[int] = []
    group = Group()
    group.rank, group.size = 1, 2
    monkeypatch.setattr(group, "abort", codes.append)
    monkeypatch.setattr(ranks, "Group", SimpleNamespace(from_mpi=lambda: group))
    monkeypatch.setattr(ranks, "end_with_parent", lambda: None)
    return codes


@pytest.mark.parametrize("is_launched", [False, True])
def test_a_rank_that_loses_another_ends_without_a_traceback(
    is_launched, aborted, monkeypatch, tmp_path, capfd
):
    monkeypatch.delenv(JOB, raising=False)
    if is_launched:
        monkeypatch.setenv(JOB, str(tmp_path))
    with ranks.all_ranks():
        raise LostError("rank 0 is gone")
    assert aborted == [1]
    assert not list(tmp_path.iterdir())  # no exit code: the launching process starts the job again
    shown = capfd.readouterr().err
    assert shown == "" if is_launched else "LostError: rank 0 is gone" in shown


def test_an_error_of_the_program_is_its_own(aborted):
    with pytest.raises(KeyError), ranks.all_ranks():
        raise KeyError
    assert aborted == []

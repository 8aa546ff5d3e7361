"""`install` and ``python -m wengert.autograd``: programs that import autograd run as they are."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from wengert.autograd import __main__ as command
from wengert.autograd import install

PROGRAM = """
import sys
import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad, numpy as anp
from autograd.extend import primitive, defvjp
from autograd.differential_operators import make_jvp_reversemode
from autograd.misc.flatten import flatten
from autograd.misc import flatten as same, optimizers
from autograd.numpy.linalg import inv
from autograd.numpy.numpy_vjps import unbroadcast_f
from autograd.scipy.stats.norm import logpdf
from autograd.scipy.special import gammaln
from autograd.tracer import getval
from autograd.wrap_util import unary_to_nary
from autograd.core import VJPNode, backward_pass

assert np is anp and same is flatten
print(sys.argv[1:], grad(logpdf)(1.0), grad(norm.cdf)(0.0).round(3), __name__)
"""


@pytest.fixture(autouse=True)
def without_autograd(monkeypatch: pytest.MonkeyPatch):
    """Leave the modules, the arguments and the path as they are."""
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "autograd"}
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "autograd"]:
        del sys.modules[name]
    sys.modules.update(before)


def run(*arguments: str) -> None:
    sys.argv[:] = ["wengert.autograd", *arguments]
    command.main()


def test_a_program(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("scipy")
    (tmp_path / "program.py").write_text(PROGRAM)
    run(str(tmp_path / "program.py"), "--flag")
    assert capsys.readouterr().out == "['--flag'] -1.0 0.399 __main__\n"


def test_a_module(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program_of_autograd.py").write_text(
        "import sys, helper_of_autograd\nprint(sys.argv[1:], helper_of_autograd.slope)"
    )
    (tmp_path / "helper_of_autograd.py").write_text("from autograd import grad\nslope = grad(abs)(-2.0)")
    monkeypatch.chdir(tmp_path)
    run("-m", "program_of_autograd", "x")
    assert capsys.readouterr().out == "['x'] -1.0\n"
    sys.modules.pop("helper_of_autograd")
    run("program_of_autograd.py")
    assert capsys.readouterr().out == "[] -1.0\n"
    sys.modules.pop("helper_of_autograd")


def test_usage() -> None:
    for arguments in ([], ["-m"]):
        with pytest.raises(SystemExit, match="usage"):
            run(*arguments)


def test_install_replaces_what_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    other: Any = object()
    monkeypatch.setitem(sys.modules, "autograd", other)
    monkeypatch.setitem(sys.modules, "autograd.other", other)
    install()
    assert sys.modules["autograd"].__name__ == "wengert.autograd"
    assert "autograd.other" not in sys.modules
    assert runpy.run_path.__module__ == "runpy"

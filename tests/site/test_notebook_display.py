"""What IPython and a notebook's kernel show: short errors that name the cell, bars of one line, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.site

IMPORTS = "import time\nimport numpy as np\nimport wengert as wg"
MISTAKE = "A = np.ones((3, 3))\n\ndef f(x):\n    y = A @ x[0]\n    return np.sum(y)"
MESSAGE = "got f64[3,3], f64[4]. [cell 2, line 4: y = A @ x[0]]"
OURS = re.compile(r"File \S*wengert[/\\]")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


# -- IPython -----------------------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.delenv("WENGERT_TRACEBACK", raising=False)
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    yield InteractiveShell.instance(config=config)
    InteractiveShell.clear_instance()


def shown(shell: Any, capsys: pytest.CaptureFixture[str], *cells: str) -> str:
    """Run cells, and return what the last one shows."""
    for cell in cells:
        capsys.readouterr()
        shell.run_cell(cell, store_history=True)
    return ANSI.sub("", capsys.readouterr().out)


@pytest.mark.parametrize(
    "call",
    [
        "wg.grad(f)(B)",
        "wg.jit(wg.grad(f))(B)",
        "wg.vmap(f)(np.stack([B, B]))",
        "wg.hessian(f)(B)",
        "wg.trace(f)(B)",
    ],
)
@pytest.mark.parametrize("mode", ["Context", "Verbose", "Plain", "Minimal"])
def test_an_error_shows_the_users_lines_alone(
    shell: Any, capsys: pytest.CaptureFixture[str], call: str, mode: str
) -> None:
    text = shown(shell, capsys, IMPORTS, MISTAKE, f"%xmode {mode}", f"B = np.ones((2, 4))\n{call}")
    assert MESSAGE in text
    assert not OURS.search(text)
    assert len(text.splitlines()) < 30
    if mode != "Minimal":
        assert re.search(r"Cell In\[4\], line 2", text)
        assert re.search(r"Cell In\[2\], line 4", text)


def test_an_error_that_passes_context_managers_shows_the_users_lines_alone(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(shell, capsys, IMPORTS, "def f(x):\n    return np.sort(x[x > 0])", "wg.jit(f)(np.ones(2))")
    assert "StagingError" in text
    assert re.search(r"Cell In\[2\], line 2", text)
    assert "File " not in text


def test_all_frames_on_request(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_TRACEBACK", "full")
    text = shown(shell, capsys, IMPORTS, MISTAKE, "wg.grad(f)(np.ones((2, 4)))")
    assert MESSAGE in text
    assert "reverse_mode.py" in text


def test_the_frames_around_an_error_of_the_users_own_are_hidden(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "def g(x):\n    if x > 0:\n        raise ValueError('mine')\n    return x"
    for call in ("wg.grad(g)(1.0)", "wg.jvp(g, (1.0,), (1.0,))", "wg.grad(wg.grad(g))(1.0)"):
        text = shown(shell, capsys, IMPORTS, own, call)
        assert "ValueError: mine" in text
        assert "skipping hidden" in text
        assert not OURS.search(text)


def test_objects_outside_of_transforms_have_short_errors(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(shell, capsys, IMPORTS, "x = wg.Variable(np.ones(3))\nx @ np.ones(4)")
    assert "[cell 2, line 2: x @ np.ones(4)]" in text
    assert not OURS.search(text)


def test_compiled_errors_name_the_cell_that_runs_last(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    take = "h = wg.jit(lambda x, i: x[i])"
    text = shown(shell, capsys, IMPORTS, take, "h(np.ones(3), 7)")
    assert (
        "index 7 is out of bounds for axis 0 with size 3. [cell 2, line 1: h = wg.jit(lambda x, i: x[i])]"
        in text
    )
    text = shown(shell, capsys, take, "h(np.ones(3), 7)")  # cells 4 and 5
    assert "[cell 4, line 1: h =" in text


def test_a_cell_that_runs_again_is_compiled_once(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers of cells are no part of programs, so that the cache finds them."""
    cell = "listing = wg.trace(lambda x: np.sin(x) * x)(2.0)"
    shown(shell, capsys, IMPORTS, cell)
    first = shell.user_ns["listing"]
    texts = str(first), first.text(full=True)
    shown(shell, capsys, "pass", cell)
    again = shell.user_ns["listing"]
    assert "cell 2, line 1" in texts[0]
    assert "cell 4, line 1" in str(again)
    names = re.compile(r"ipython-input-\d+")
    assert names.sub("", texts[1]) == names.sub("", again.text(full=True))


def test_listings_reports_and_pages_name_the_cell(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(
        shell,
        capsys,
        IMPORTS,
        "def f(x):\n    return np.sum(np.exp(x))",
        "x = np.ones(4)\nprint(wg.trace(wg.grad(f))(x), wg.source(f)(x), wg.jit(f).report(x))\npage = wg.explore(f)(x)",
    )
    assert text.count("cell 2, line 2") >= 4
    recorded = shell.user_ns["page"].recorded
    assert recorded["sources"][0]["file"] == "cell 2"
    assert recorded["sources"][0]["lines"] == [(1, "def f(x):"), (2, "    return np.sum(np.exp(x))")]
    assert all(nest["place"] is not None for nest in recorded["compiled"]["nests"])


# -- a kernel ----------------------------------------------------------------------------------------------


def executed(tmp_path: Path, *cells: str) -> list[Any]:
    """Run a notebook in a kernel, and return its cells with their outputs."""
    kernel = {"name": "python3", "display_name": "Python"}
    notebook = nbformat.v4.new_notebook(
        cells=list(map(nbformat.v4.new_code_cell, cells)), metadata={"kernelspec": kernel}
    )
    client = nbclient.NotebookClient(
        notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}
    )
    return client.execute().cells


def test_a_notebook(tmp_path: Path) -> None:
    """One kernel for all of it, because a kernel takes seconds to begin."""
    sleep = "def slow(x):\n    time.sleep(0.05)\n    return 2 * x"
    mapped = (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(1) as threads:\n"
        "    wg.parallel.map(slow, np.arange(40.0), executor=threads, vectorized=False)"
    )
    stages = (
        "from wengert.engine.core.progress import Bar\nwith Bar('export') as bar:\n"
        "    bar.stage('code')\n    time.sleep(1.5)"
    )
    unrolled = (
        "def unrolled(x):\n    for _ in range(30):\n        x = np.sin(x)\n"
        "    began = time.thread_time()\n    while time.thread_time() < began + 2.2:\n        pass\n    return x\n"
        "wg.jit(unrolled)(1.0)\npass"
    )
    table = "wg.trace(np.tanh)(2.0)"
    elsewhere = "wg.parallel.map(f, np.ones((3, 2, 4)), workers=1, vectorized=False)"
    programs = (
        IMPORTS,
        MISTAKE,
        "wg.grad(f)(np.ones((2, 4)))",
        sleep,
        mapped,
        stages,
        unrolled,
        table,
        elsewhere,
    )
    cells = executed(tmp_path, *programs)
    (error,), (bar,), (stage,), (note,), (shown,), (failed,) = (cells[n].outputs for n in (2, 4, 5, 6, 7, 8))
    trace = ANSI.sub("", "\n".join(error.traceback))
    assert MESSAGE in error.evalue
    assert not OURS.search(trace)
    assert "Cell In[3], line 1" in trace
    assert re.fullmatch(r"map: 40 in \d:\d\d", bar.data["text/plain"])
    assert re.fullmatch(r"<div>map: 40 in \d:\d\d</div>", bar.data["text/html"])
    assert re.fullmatch(r"export: done in \d:\d\d", stage.data["text/plain"])
    assert "unrolled [cell 7, line 1] is still being traced after 2 s" in note.text
    assert "<td" in shown.data["text/html"]
    assert shown.data["text/plain"].startswith("graph(")
    assert re.match(r"map: f failed for item \d of 3: ValueError: matmul", failed.evalue)
    assert failed.evalue.endswith("[cell 2, line 4: y = A @ x[0]]")

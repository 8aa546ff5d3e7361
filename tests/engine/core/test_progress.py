"""Bars: in a terminal, in a notebook, and nothing where nobody watches."""

from __future__ import annotations

import re
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from wengert.engine.core import progress
from wengert.engine.core.progress import Bar, State, counts, duration


class Terminal:
    """Makes standard error a terminal, and tells what it shows so far."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch, self._text = capsys, monkeypatch, ""

    def begin(self) -> None:
        """Begin in the test itself: pytest gives fixtures a stream of their own."""
        self._monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    def text(self) -> str:
        self._text += self._capsys.readouterr().err
        return self._text


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    return Terminal(capsys, monkeypatch)


class Kernel:
    """Stands for the shell of a notebook, and keeps its outputs as a notebook does."""

    def __init__(self) -> None:
        self.kernel = object()
        self.display_pub = self
        self.outputs: dict[str, dict[str, str]] = {}
        self.updates = 0

    def publish(self, data: dict[str, str], *, transient: dict[str, str], update: bool) -> None:
        assert update == (transient["display_id"] in self.outputs)
        self.outputs[transient["display_id"]] = data
        self.updates += update


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: made))
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    return made


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (5.4, "0:05"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_nobody_watches(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    for total in (10, None):
        with Bar("work", total) as bar:
            bar.show(5)
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal.begin()
    monkeypatch.setattr(progress, "DELAY", 60.0)
    for total in (10, None):
        with Bar("work", total) as bar:
            bar.show(5)
    assert terminal.text() == ""


def test_a_bar_in_a_terminal_disappears(terminal: Terminal) -> None:
    pytest.importorskip("rich")
    terminal.begin()
    with Bar("work", 10) as bar:
        bar.show(5, "loss 0.5")
        shown = terminal.text()
    assert "work" in shown
    assert "5 of 10 (50%), loss 0.5" in shown
    assert terminal.text().endswith("\x1b[2K")  # the line is erased


def test_a_bar_without_rich_is_a_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    terminal.begin()
    with Bar("work", 10) as bar:
        bar.show(5, "loss 0.5")
        assert "work: 5 of 10 (50%), loss 0.5" in terminal.text()
    assert terminal.text().endswith("\r\x1b[K")  # the line is erased


def test_names_with_brackets_are_shown_as_they_are(terminal: Terminal) -> None:
    terminal.begin()
    with Bar("work", 10) as bar:
        bar.show(5, "write out[/a]/[bold]f.wg")
        assert "write out[/a]/[bold]f.wg" in terminal.text()


def test_a_wanted_bar_stays(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with Bar("work", 10, wanted=True) as bar:
        bar.show(10)
    written = capsys.readouterr().err
    assert re.search(r"10 in \d:\d\d", written)
    assert written.count("work") == 1


def test_stages_are_shown_while_the_work_is_busy(terminal: Terminal) -> None:
    terminal.begin()
    with Bar("export") as bar:
        bar.stage("compile f")
        until = time.monotonic() + 10.0
        while "compile f" not in terminal.text():
            assert time.monotonic() < until
            time.sleep(0.01)


def test_work_inside_other_work_shows_no_bar(terminal: Terminal) -> None:
    terminal.begin()
    with Bar("outer", 2) as outer:
        outer.show(1)
        with Bar("inner", 2) as inner:
            inner.show(1)
    assert "inner" not in terminal.text()
    with Bar("later", 2) as later:
        later.show(1)
    assert "later" in terminal.text()


def test_a_notebook_has_one_output_that_ends_as_one_line(kernel: Kernel) -> None:
    with Bar("map <x>", 100) as bar:
        for done in range(1, 101):
            bar.show(done)
            (output,) = kernel.outputs.values()
            assert f'<progress value="{done}" max="100" aria-label="map &lt;x&gt;"' in output["text/html"]
            assert output["text/plain"].startswith(f"map <x>: {done} of 100 ({done}%)")
    (output,) = kernel.outputs.values()
    assert re.fullmatch(r"map <x>: 100 in \d:\d\d", output["text/plain"])
    assert re.fullmatch(r"<div>map &lt;x&gt;: 100 in \d:\d\d</div>", output["text/html"])
    assert kernel.updates == 100


def test_a_notebook_sees_how_far_failed_work_came(kernel: Kernel) -> None:
    def fail() -> Any:
        with Bar("map", 100) as bar:
            bar.show(40)
            raise ValueError("forty")

    with pytest.raises(ValueError, match="forty"):
        fail()
    (output,) = kernel.outputs.values()
    assert re.fullmatch(r"map: stopped at 40 of 100 after \d:\d\d", output["text/plain"])


@pytest.mark.parametrize("total", [None, 0, 7, 1000])
@pytest.mark.parametrize("done", [0, 3])
def test_every_state_is_one_line(total: int | None, done: int) -> None:
    state = State("work", done, total, "stage", 12.3, counts)
    for text in (state.text(), state.last_text(), state.last_text(failed=True)):
        assert re.search(r"\d:\d\d", text) or done == 0
        assert "\n" not in text

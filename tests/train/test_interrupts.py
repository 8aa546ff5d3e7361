"""Signals: the first is noted, the second has its usual effect, and other handlers stay."""

from __future__ import annotations

import signal
import threading

import pytest

from wengert.train.reporters import Interrupts

pytestmark = pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def number(request):
    """Return a signal that has its usual meaning."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = signal.signal(request.param, usual[request.param])
    yield request.param
    signal.signal(request.param, before)


def test_the_first_is_noted_and_the_second_is_not(number):
    before = signal.getsignal(number)
    with Interrupts() as interrupts:
        assert not interrupts.noted
        signal.raise_signal(number)
        assert (interrupts.noted, interrupts.signal) == (True, number)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_others_handlers_stay(number):
    heard = []
    signal.signal(number, lambda *given: heard.append(given[0]))
    with Interrupts() as interrupts:
        signal.raise_signal(number)
    assert (heard, interrupts.noted) == ([number], False)


def test_other_threads_do_not_listen(number):
    before, actual = signal.getsignal(number), []

    def enter():
        with Interrupts():
            actual.append(signal.getsignal(number))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert actual == [before]

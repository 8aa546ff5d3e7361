"""Numbers as text for a page."""

from __future__ import annotations

from typing import Any


def short(value: float) -> str:
    """Format a number with few digits.

    Example:
        >>> [short(number) for number in (0.0, 0.25, 1200.0, 1e-7)]
        ['0', '0.25', '1,200', '1e-07']
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(value: float) -> str:
    """Format a fraction as per cent.

    Example:
        >>> percent(0.5), percent(0.975)
        ('50%', '97.5%')
    """
    return f"{100 * value:.3g}%"


def bytes_text(count: float) -> str:
    """Format a number of bytes.

    Example:
        >>> [bytes_text(number) for number in (512, 37_320, 5_200_000)]
        ['512 bytes', '37.3 kB', '5.2 MB']
    """
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.3g} {unit}"
    return f"{count:,.0f} bytes"


def seconds_text(seconds: float) -> str:
    """Format a time.

    Example:
        >>> seconds_text(0.0123), seconds_text(1.25), seconds_text(4000)
        ('12 ms', '1.2 s', '1 h 6 min 40 s')
    """
    if seconds < 0.095:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 99.5:
        return f"{seconds:.2g} s"
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min {remainder} s" if hours else f"{minutes} min {remainder} s"


def setting_text(value: Any) -> str:
    """Format the value of a setting."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)

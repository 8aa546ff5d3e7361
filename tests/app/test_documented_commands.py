"""The commands that the documentation shows exist, with their options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from wengert.app.cli import command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = re.compile(r"^```(?:bash|sh)\n(.*?)^```$", re.M | re.S)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each call of ``wengert`` in the shell programs of a page."""
    for block in SHELL.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            for place, word in enumerate(words):
                if Path(word).name == "wengert" and place + 1 < len(words):
                    end = next(
                        (k for k in range(place, len(words)) if words[k] in ("&&", ";", "|")), len(words)
                    )
                    yield words[place + 1 : end]


def problem(words: list[str]) -> str | None:
    """Return why ``wengert`` would refuse some words: an unknown command or option."""
    assert isinstance(command, click.Group)
    if words[0].startswith("-"):
        return None
    if words[0] not in command.commands:
        return f"wengert has no command {words[0]}"
    known = {option for parameter in command.commands[words[0]].params for option in parameter.opts}
    given = {word.partition("=")[0] for word in words[1:] if word.startswith("--")}
    unknown = sorted(given - known)
    return f"wengert {words[0]} has no option {', '.join(unknown)}" if unknown else None


def test_the_commands_of_the_pages_exist():
    shown = [(page.name, words) for page in PAGES for words in commands(page.read_text("utf-8"))]
    assert len(shown) > 20
    wrong = [f"{page}: {text}" for page, words in shown if (text := problem(words))]
    assert not wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("wengert train cnn --epochs=2 --seed 0  # a comment", None),
        ("a && .venv/bin/wengert train && wengert fly", "wengert has no command fly"),
        ("wengert train cnn \\\n  --speed 3", "wengert train has no option --speed"),
    ],
)
def test_problems_of_commands(line: str, expected: str | None):
    found = [problem(words) for words in commands(f"```bash\n{line}\n```\n")]
    assert found[-1] == expected

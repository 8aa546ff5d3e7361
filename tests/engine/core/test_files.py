from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wengert.engine.core.files import replace_all, replacing


def test_the_new_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with replacing(path) as stream:
        stream.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_interruption_leaves_the_old_file_alone(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as stream:
            stream.write(b"half of the n")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("at", ["open", "write", "flush"])
def test_files_are_replaced_together(tmp_path: Path, monkeypatch: Any, count: int, at: str) -> None:
    contents = {tmp_path / f"{n}" / "file": bytes([n]) * 9 for n in range(count)}
    assert replace_all(contents) == [*contents]
    assert {path: path.read_bytes() for path in contents} == contents
    for failing in range(count):
        opened: list[Any] = []

        def full(path: Path, mode: str, opened: list[Any] = opened, failing: int = failing) -> Any:
            """Open a file on a disk that is full at one of the files."""
            stream = path.open(mode)
            opened.append(stream)
            if len(opened) == failing + 1:
                return Full(stream)
            return stream

        class Full:
            def __init__(self, stream: Any) -> None:
                self._stream = stream

            def __enter__(self) -> Any:
                if at == "open":
                    self._stream.close()
                    raise OSError("no space")
                return self

            def __exit__(self, *problem: object) -> None:
                self._stream.close()

            def write(self, content: bytes) -> None:
                self._stream.write(content[:3])
                if at == "write":
                    raise OSError("no space")

            def flush(self) -> None:
                raise OSError("no space")

        with monkeypatch.context() as patched:
            patched.setattr("wengert.engine.core.files.open", full, raising=False)
            with pytest.raises(OSError, match="no space"):
                replace_all(dict.fromkeys(contents, b"new"))
        assert {path: path.read_bytes() for path in contents} == contents
        assert sorted(tmp_path.rglob("*file*")) == sorted(contents)

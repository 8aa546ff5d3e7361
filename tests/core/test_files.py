from __future__ import annotations

from pathlib import Path

import pytest

from wengert.core.files import replacing


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

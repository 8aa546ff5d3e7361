"""A small data set on disk, and a web server on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from wengert.data import write_idx
from wengert.data.download import RemoteFile
from wengert.data.idx import unpacked
from wengert.data.mnist import SOURCES, Source


@dataclass
class Server:
    """The answers of the server, and the requests that it got."""

    url: str
    bodies: dict[str, bytes] = field(default_factory=dict)
    #: The number of bytes that the header promises in addition to the body.
    missing_bytes: int = 0
    send_length: bool = True
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def server() -> Generator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            site.requests.append(name)
            if name not in site.bodies:
                self.send_error(404)
                return
            body = site.bodies[name]
            self.send_response(200)
            if site.send_length:
                self.send_header("Content-Length", str(len(body) + site.missing_bytes))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        site = Server(f"http://127.0.0.1:{http.server_port}/data/")
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        http.shutdown()
        thread.join()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder; the user's cache is its subfolder ``cache``, and WENGERT_DATA is not set."""
    monkeypatch.delenv("WENGERT_DATA", raising=False)
    monkeypatch.setattr("wengert.data.mnist.cache_folder", lambda: tmp_path / "cache")
    return tmp_path


def write_set(folder: Path, first: int = 0, train: int = 30, test: int = 20) -> list[Path]:
    """Write the four files of a small set; all pixels of image i are ``first`` + i."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / file.name for file in SOURCES["mnist"].files]
    for (images, labels), count in zip((paths[:2], paths[2:]), (train, test), strict=True):
        numbers = (np.arange(count) + first).astype(np.uint8)
        write_idx(images, np.broadcast_to(numbers[:, None, None], (count, 28, 28)))
        write_idx(labels, numbers % 10)
    return paths


def publish(paths: list[Path], server: Server, monkeypatch: pytest.MonkeyPatch, name: str = "mnist") -> None:
    """Let the server offer the files of ``load(name)``."""
    files = []
    for path in paths:
        server.bodies[path.name] = path.read_bytes()
        with unpacked(path) as stream:
            files.append(RemoteFile(path.name, hashlib.sha256(stream.read()).hexdigest()))
    monkeypatch.setitem(SOURCES, name, Source(SOURCES[name].classes, (server.url,), tuple(files)))


@pytest.fixture
def small_set() -> Any:
    return write_set


@pytest.fixture
def offer() -> Any:
    return publish

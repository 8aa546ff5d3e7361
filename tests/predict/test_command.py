"""``wengert predict``, as a user meets it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from tests.commands import start
from wengert.data import write_idx


@pytest.fixture
def files(learned, tmp_path):
    """Make five pictures and an IDX file of training images; return the labels."""
    images, labels = learned
    for number in range(5):
        Image.fromarray(images[number]).save(tmp_path / f"{number}.png")
    write_idx(tmp_path / "some-idx3.gz", images[:12])
    return [str(label) for label in labels[:12]]


def test_a_line_for_each_image(run, files, wengert):
    ended = wengert("predict", run, "0.png", "some-idx3.gz", "3.png")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert [line[0] for line in lines] == ["0.png", *(f"some-idx3.gz[{n}]" for n in range(12)), "3.png"]
    right = [line[1] == files[n] for line, n in zip(lines, [0, *range(12), 3], strict=True)]
    assert sum(right) >= 12
    for line in lines:
        assert len(line) == 7
        shares = [float(share.rstrip("%")) for share in line[2::2]]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 100.02


def test_top(run, files, wengert):
    assert len(wengert("predict", run, "0.png", "--top", 1).out.split()) == 3
    everything = wengert("predict", run, "0.png", "--top", 99).out.split()
    assert sorted(everything[1::2]) == list("0123456789")
    wengert("predict", run, "0.png", "--top", 0).failed(2, "--top")


def test_json(run, files, wengert):
    ended = wengert("predict", run, "some-idx3.gz", "1.png", "--json", "--top", 10)
    actual = [json.loads(line) for line in ended.out.splitlines()]
    assert [line["index"] for line in actual] == [*range(12), None]
    assert actual[12]["file"] == "1.png"
    assert actual[12]["resized_from"] is None
    for line in actual:
        assert line["top"][0] == {"label": line["label"], "probability": line["probability"]}
        assert sum(guess["probability"] for guess in line["top"]) == pytest.approx(1, abs=1e-12)
    assert actual[1]["probability"] == pytest.approx(actual[12]["probability"], rel=1e-4)


def test_folders(run, files, wengert):
    ended = wengert("predict", run, ".")
    assert [line.split()[0] for line in ended.out.splitlines()][:6] == [
        *(f"{number}.png" for number in range(5)),
        "some-idx3.gz[0]",
    ]


def test_files_that_cannot_be_read_are_said_and_the_others_done(run, files, wengert, tmp_path):
    (tmp_path / "1.png").write_bytes((tmp_path / "1.png").read_bytes()[:60])
    (tmp_path / "labels").write_bytes(b"\0\0\x08\x01\0\0\0\x01\x05")
    ended = wengert("predict", run, "0.png", "1.png", "nowhere.png", "labels", "2.png")
    assert ended.code == 1
    assert [line.split()[0] for line in ended.out.splitlines()] == ["0.png", "2.png"]
    problems = ended.err.splitlines()
    assert [line.split(": ")[:2] for line in problems] == [
        ["wengert", "1.png"],
        ["wengert", "nowhere.png"],
        ["wengert", "labels"],
    ]


def test_sizes(run, files, wengert, tmp_path):
    large = np.kron(np.asarray(Image.open(tmp_path / "0.png")), np.ones((3, 3), np.uint8))
    Image.fromarray(large).save(tmp_path / "large.png")
    refused = wengert("predict", run, "large.png")
    refused.failed(
        1, "large.png: images must be 28x28 (height x width); got 84x84; resize them with --resize"
    )
    resized = wengert("predict", run, "large.png", "--resize")
    assert (resized.code, resized.err) == (0, "")
    assert resized.out.rstrip().endswith("(resized from 84x84)")
    assert resized.out.split()[1] == wengert("predict", run, "0.png").out.split()[1]
    assert json.loads(wengert("predict", run, "large.png", "--resize", "--json").out)["resized_from"] == [
        84,
        84,
    ]


def test_dark_ink_on_light_paper(run, files, wengert, tmp_path):
    as_learned = wengert("predict", run, "0.png").out
    for number in (0, 1):
        image = np.asarray(Image.open(tmp_path / f"{number}.png"))
        Image.fromarray(255 - image).save(tmp_path / f"{number}.png")
    noted = wengert("predict", run, "0.png", "1.png")
    assert noted.code == 0
    assert noted.err == (
        "wengert: note: 0.png and 1 more: the edges are light, but networks learn light on black: try --invert\n"
    )
    inverted = wengert("predict", run, "0.png", "--invert")
    assert (inverted.code, inverted.err, inverted.out) == (0, "", as_learned)


def test_scans_off_the_centre(run, files, wengert, tmp_path):
    right = 0
    for number in range(5):
        ink = np.kron(np.asarray(Image.open(tmp_path / f"{number}.png")), np.ones((5, 5), np.uint8))
        sheet = np.full((300, 420), 240, np.uint8)
        sheet[150:290, 10:150] -= (0.8 * ink).astype(np.uint8)
        Image.fromarray(np.dstack([sheet] * 3)).save(tmp_path / "sheet.png")
        ended = wengert("predict", run, "sheet.png", "--invert", "--centre")
        assert (ended.code, ended.err) == (0, "")
        right += ended.out.split()[1] == files[number]
    assert right >= 4
    assert "(resized from 300x420)" in ended.out


def test_usage(run, files, wengert, tmp_path):
    wengert("predict", run).failed(2, "IMAGES")
    wengert("predict").failed(2, "RUN")
    wengert("predict", "nowhere", "0.png").failed(1, "nowhere", "not the folder of a run")
    assert "--invert" in wengert("predict", "--help").out
    model = tmp_path / "damaged"
    model.mkdir()
    for path in run.iterdir():
        content = path.read_bytes()
        (model / path.name).write_bytes(content[:-1] if path.suffix == ".safetensors" else content)
    wengert("predict", model, "0.png").failed(1, "model.safetensors", "damaged")


def test_a_reader_that_goes_away_is_no_traceback(run, learned, tmp_path):
    write_idx(tmp_path / "many", np.concatenate([learned[0]] * 20))
    process = start("predict", run, "many", cwd=tmp_path)
    assert process.stdout.readline().startswith("many[0]")
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=120) == 1

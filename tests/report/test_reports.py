"""``wengert report`` and ``wengert compare``, and the content of their pages."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from tests.report.pages import Page
from wengert.data import digit_set
from wengert.report import comparison, run_report
from wengert.report.run import step_points, steps_of_epoch
from wengert.train import Run

JUDGED = {
    "cnn": ["confusion", "worst"],
    "rnn": ["confusion", "worst"],
    "autoencoder": ["reconstructions", "worst"],
}


@pytest.fixture(scope="module")
def text_of_cnn(runs):
    """Return the text of a page that is only read."""
    return Page(run_report(Run.open(runs / "cnn"))).text


@pytest.mark.parametrize("network", JUDGED)
def test_report(runs, network, wengert):
    ended = wengert("report", runs / network)
    page = runs / network / "report.html"
    assert (ended.code, ended.out, ended.err) == (0, f"report    {page}\n", "")
    page = Page(page.read_text("utf-8")).check()
    assert page.titles == ["curves", *JUDGED[network], "costs", "weights", "network", "settings"]
    run = Run.open(runs / network)
    last = run.history[-1]
    assert f"{last.test_loss:.4g}" in page.text
    assert (f"{last.test_score:.2%}" in page.text) == run.task.classifies
    assert f"finished: {last.epoch} of {last.epoch} epochs" in page.text
    assert "f32[" in page.text


def test_numbers_of_the_matrix(runs, text_of_cnn):
    wrong = round(50 * (1 - Run.open(runs / "cnn").history[-1].test_score))
    assert f"{wrong} of 50 test images are classified incorrectly" in text_of_cnn


def test_steps_are_where_they_are_in_their_epoch(runs):
    run = Run.open(runs / "cnn")
    assert steps_of_epoch(run, run.dataset()) == steps_of_epoch(run, None) == 2
    assert [x for x, _ in step_points(run, "loss", 2)] == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]


def test_where_the_time_went(runs, text_of_cnn):
    profile = json.loads((runs / "cnn" / "profile.json").read_text())
    assert all(part in text_of_cnn for part in profile["typical_epoch"])
    assert "Time of a typical epoch" not in Page(run_report(Run.open(runs / "rnn"))).text


@pytest.fixture
def run(runs, tmp_path):
    return shutil.copytree(runs / "rnn", tmp_path / "a & <b>")


def test_a_run_without_its_images(run):
    settings = json.loads((run / "settings.json").read_text())
    (run / "settings.json").write_text(json.dumps(settings | {"data_dir": str(run / "nothing")}))
    page = Page(run_report(Run.open(run))).check()
    assert "Without the images" in page.text
    assert page.titles == ["curves", "costs", "weights", "network", "settings"]


def test_when_the_run_began_and_what_memory_it_took(run):
    settings, summary = (json.loads((run / name).read_text()) for name in ("settings.json", "summary.json"))
    (run / "settings.json").write_text(json.dumps(settings | {"began": "2026-02-03T04:05:06+01:00"}))
    (run / "summary.json").write_text(json.dumps(summary | {"peak_memory": 123_456_789}))
    page = Page(run_report(Run.open(run))).check()
    assert "began 2026-02-03 04:05 " in page.text
    assert "began 2026-02-03 04:05:06+01:00" in page.text
    assert "memory of the run 123 MB" in page.text
    del settings["began"], summary["peak_memory"]  # as earlier versions wrote them
    (run / "settings.json").write_text(json.dumps(settings))
    (run / "summary.json").write_text(json.dumps(summary))
    page = Page(run_report(Run.open(run))).check()
    assert "began" not in page.text
    assert "memory of the run" not in page.text
    assert "memory, training" in page.text


def test_a_graph_that_is_too_large(run, monkeypatch):
    monkeypatch.setattr("wengert.report.network._LARGEST", 3)
    page = Page(run_report(Run.open(run))).check()
    assert re.search(r"The graph is left out: it has \d+ operations, and more than 3 cannot be", page.text)
    assert not page.all("button")
    assert "network" in page.titles


def test_digits_to_train_with_are_not_drawn(run, monkeypatch):
    settings = json.loads((run / "settings.json").read_text())
    (run / "settings.json").write_text(json.dumps(settings | {"data": "digits", "data_dir": None}))
    drawn = []
    monkeypatch.setattr(
        "wengert.train.runs.digit_set", lambda **counts: drawn.append(counts) or digit_set(train=0, test=50)
    )
    page = Page(run_report(Run.open(run))).check()
    assert drawn == [{"train": 0, "test": 5000}]
    assert "of 50 test images are classified" in page.text
    assert steps_of_epoch(Run.open(run), None) == 30_000 // settings["batch_size"]


def test_a_run_that_is_not_over(run):
    for name in ("model.safetensors", "summary.json", "metrics.jsonl"):
        (run / name).unlink()
    page = Page(run_report(Run.open(run))).check()
    assert page.titles == ["curves", "settings"]
    for words in (
        "a & <b>",
        "not finished: 0 of 2 epochs",
        "Nothing has been logged yet",
        "no trained model",
    ):
        assert words in page.text


def test_a_run_that_failed(run):
    (run / "model.safetensors").unlink()
    (run / "summary.json").write_text(json.dumps({"interrupted": False, "problem": "the loss became <nan>"}))
    lines = (
        run / "metrics.jsonl"
    ).read_text() + '{"kind": "step", "epoch": 3, "step": 1, "loss": NaN, "score": 0}\n'
    (run / "metrics.jsonl").write_text(lines)
    page = Page(run_report(Run.open(run))).check()
    assert "failed after 2 of 2 epochs: the loss became <nan>" in page.text


def test_what_cannot_be_written_or_read(runs, wengert, tmp_path):
    wengert("report", tmp_path).failed(1, "this is not the folder of a run")
    wengert("report", runs / "rnn", "--out", "page.pdf").failed(2, "--out must be named *.html", "page.pdf")
    wengert("report", runs / "rnn", "--out", "no/page.html").failed(1, "no/page.html cannot be written")
    wengert("compare").failed(2, "RUNS")
    wengert("compare", runs / "rnn", tmp_path).failed(1, "this is not the folder of a run")
    assert not list(tmp_path.glob("*.html"))


def test_files_that_are_no_reports_stay(runs, wengert, tmp_path):
    mine = tmp_path / "comparison.html"
    mine.write_text("<p>mine</p>")
    message = "comparison.html exists and is not a report of wengert: choose another file with --out"
    wengert("compare", runs / "rnn").failed(1, message)
    for command in ("compare", "report"):
        wengert(command, runs / "rnn", "--out", mine).failed(1, message)
    assert mine.read_text() == "<p>mine</p>"
    for command in ("compare", "report", "compare"):  # they replace their own pages
        assert wengert(command, runs / "rnn", "--out", "other.html").code == 0
    (tmp_path / "folder.html").mkdir()
    wengert("compare", runs / "rnn", "--out", "folder.html").failed(1, "folder.html cannot be written")


def test_compare(runs, wengert, tmp_path):
    ended = wengert("compare", runs / "cnn", runs / "rnn", runs / "autoencoder", "--out", "all.html")
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 80
    page = Page((tmp_path / "all.html").read_text("utf-8")).check()
    assert "3 runs" in page.text
    for network in JUDGED:
        last = Run.open(runs / network).history[-1]
        for shown in (ended.out, page.text):
            assert network in shown
            assert f"{last.test_loss:.4f}" in shown
    captions = [svg["aria-label"] for svg in page.all("svg") if "role" in svg]
    assert [caption.split(";")[0] for caption in captions] == [
        "Test loss",
        "Test accuracy",
        "Training loss",
        "Test loss by time",
    ]
    assert "autoencoder" not in captions[1]


def test_only_what_differs_is_compared(runs, tmp_path):
    other = shutil.copytree(runs / "rnn", tmp_path / "rnn")
    settings = json.loads((other / "settings.json").read_text())
    (other / "settings.json").write_text(json.dumps(settings | {"rate": 0.5, "log_every": 7}))
    actual = comparison([Run.open(runs / "rnn"), Run.open(other)])
    assert actual.head[: actual.texts] == ["run", "lr"]
    assert [row[0] for row in actual.rows] == [
        str(runs / "rnn"),
        str(other),
    ]  # paths, because the names are equal
    assert [row[1] for row in actual.rows] == ["0.015", "0.5"]


def test_many_runs_are_printed_in_parts(runs, wengert, tmp_path):
    copies = [shutil.copytree(runs / "rnn", tmp_path / f"copy-{number}") for number in range(12)]
    ended = wengert("compare", *copies)
    assert max(map(len, ended.out.splitlines())) <= 80
    assert all(copy.name in ended.out for copy in copies)
    page = (tmp_path / "comparison.html").read_text("utf-8")
    assert 'class="curve c2"' in page
    assert 'class="curve c2 dashed1"' in page


def test_a_network_that_fails_now(run):
    settings = json.loads((run / "settings.json").read_text())
    (run / "settings.json").write_text(json.dumps(settings | {"model": "mine.py:rnn"}))
    (run / "model.py").write_text(
        "from wengert import nn\nfrom wengert.train.tasks import rnn as make\n\n"
        "class Failing(nn.Chain):\n    def __call__(self, x):\n        return {}[x.shape]\n\n"
        "def rnn(rng):\n    return Failing(*make(rng).layers)\n"
    )
    page = Page(run_report(Run.open(run, trust=True))).check()
    assert "The model's predictions are left out" in page.text
    assert "model.py:6: KeyError" in page.text
    assert "The graph is left out: model: " in page.text
    assert page.titles == ["curves", "costs", "weights", "network", "settings"]

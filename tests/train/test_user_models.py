"""Users' networks: from a file to a run, and the errors for files that do not work."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.commands import mnist
from wengert.data import write_idx
from wengert.train import Run

GOOD = """
from helper import WIDTH
from wengert import nn

def network(rng):
    return nn.Chain(nn.Flatten(), nn.Dense(784, WIDTH, seed=rng), nn.tanh, nn.Dense(WIDTH, 10, seed=rng))
"""
HIDING = """
from dataclasses import dataclass

@dataclass
class Hiding:
    inner: object

    def __call__(self, x):
        return self.inner(x)
"""
TASK = """
from wengert import nn, optim
from wengert.train import Task, as_vectors, reconstruction_loss, shifts

network = Task(
    "mine", "squeezed", lambda rng: nn.Chain(nn.Dense(784, 9, seed=rng), nn.Dense(9, 784, seed=rng)), as_vectors,
    reconstruction_loss, classifies=False, optimiser=lambda rate, steps: optim.momentum(rate), vary=shifts(1),
    epochs=1, batch_size=40, rate=1e-4,
)
"""


@pytest.fixture
def own(wengert, small_mnist, no_pictures, tmp_path):
    """Train a network from a file with some text."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "helper.py").write_text("WIDTH = 12\n")
    file = tmp_path / "there" / "mine.py"

    def run(text, *options, model="there/mine.py:network"):
        file.write_text(text)
        out = () if "--dry-run" in options else ("--out", "run")
        return wengert(
            "train", "--model", model, *mnist(small_mnist), "--batch-size", 40, "--eager", *options, *out
        )

    return run


def test_a_function_that_makes_a_network(own, wengert, tmp_path):
    assert own(GOOD, "--epochs", 1).code == 0
    (tmp_path / "there" / "mine.py").write_text("the run has a copy of the old text")
    ended = wengert("train", "--resume", "run", "--epochs", 2)
    assert (ended.code, ended.err) == (0, "")
    run = Run.open("run")
    assert [result.epoch for result in run.history] == [1, 2]
    assert run.model().layers[1].weight.shape == (784, 12)


DEEP = """
from parts.blocks import block
from wengert import nn

def network(rng):
    from late import unused
    return nn.Chain(nn.Flatten(), *block(rng))
"""


@pytest.fixture
def gone(own, tmp_path):
    """Train a network made of several files, then delete the files."""
    there = tmp_path / "there"
    (there / "parts").mkdir(parents=True)
    (there / "parts" / "__init__.py").write_text("from . import sizes\n")
    (there / "parts" / "sizes.py").write_text("from helper import WIDTH\n")
    (there / "parts" / "unused.py").write_text("")
    (there / "late.py").write_text("unused = 0\n")
    (there / "parts" / "blocks.py").write_text(
        "from wengert import nn\nfrom .sizes import WIDTH\nimport late\n\ndef block(rng):\n"
        "    return nn.Dense(784, WIDTH, seed=rng), nn.tanh, nn.Dense(WIDTH, 10, seed=rng)\n"
    )
    assert own(DEEP, "--epochs", 1).code == 0
    shutil.rmtree(there)
    return tmp_path / "run"


def test_what_a_file_imports_is_kept(gone, wengert, tmp_path):
    kept = sorted(path.relative_to(gone / "modules").as_posix() for path in gone.glob("modules/**/*"))
    assert kept == ["helper.py", "late.py", "parts", "parts/__init__.py", "parts/blocks.py", "parts/sizes.py"]
    write_idx(tmp_path / "one.idx", np.zeros((1, 28, 28), np.uint8))
    for command in (
        ("train", "--resume", "run", "--epochs", 2),
        ("predict", "run", "one.idx"),
        ("report", "run"),
        ("compare", "run"),
    ):
        ended = wengert(*command)
        assert (ended.code, ended.err) == (0, ""), command
    assert not list(gone.rglob("__pycache__"))


def test_runs_keep_modules_of_the_same_name_apart(own, tmp_path):
    for width in (12, 13):
        (tmp_path / "there" / "helper.py").write_text(f"WIDTH = {width}\n")
        assert own(GOOD, "--epochs", 1).code == 0
        (tmp_path / "run").rename(tmp_path / f"run-{width}")
    runs = [Run.open(f"run-{width}") for width in (12, 13, 12)]
    assert [run.model().layers[1].weight.shape[1] for run in runs] == [12, 13, 12]


def test_what_is_missing_is_named(gone, wengert):
    (gone / "modules" / "helper.py").unlink()
    message = "model.py:2: ModuleNotFoundError: No module named 'helper'; install it, or put helper.py into run/modules"
    for command in (("train", "--resume", "run"), ("predict", "run", "one.idx"), ("report", "run")):
        wengert(*command).failed(1, "run/model.py: opening the run would run this program")
        wengert(*command, "--trust").failed(1, message)
    (gone / "model.py").unlink()
    wengert("report", "run").failed(1, "run/settings.json: model: run/model.py cannot be read: No such file")


def test_a_module_that_only_a_function_imports(own, tmp_path):
    (tmp_path / "there" / "late.py").write_text("WIDTH = 3\n")
    text = GOOD.replace("    return", "    import late\n    return")
    message = (
        "ModuleNotFoundError: No module named 'late'; import it at the top of the file, not in a function"
    )
    own(text).failed(1, "there/mine.py:6: " + message)


def test_a_task(own):
    ended = own(TASK)
    assert (ended.code, ended.err) == (0, "")
    assert "squeezed" in ended.out
    assert "accuracy" not in ended.out
    assert Run.open("run").settings.rate == 1e-4


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("def network(rng:\n", 1, "model: there/mine.py is not valid Python: "),
        (
            "import nothing_of_this_name\n",
            1,
            "mine.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'; install it",
        ),
        ("raise SystemExit(0)\n", 1, "mine.py:1: SystemExit: 0"),
        ("def other(rng): ...\n", 2, "model: network is not defined in there/mine.py"),
        ("network = 3\n", 2, "model: network must be a function or a Task"),
        ("def network():\n    pass\n", 1, "TypeError: network() takes 0 positional arguments"),
        (
            "def network(rng):\n    return None\n",
            1,
            "must return a model: a container of arrays that can be called",
        ),
        (
            "from wengert import nn\ndef network(rng):\n    return nn.Dense(784, 10, seed=rng)\n",
            1,
            "its inputs, f32[2,1,28,28]: Dense: the input must be (..., 784); got f32[2,1,28,28].\n",
        ),
        (
            GOOD.replace("nn.Flatten()", "nn.Conv2D(3, 1, 1, seed=rng), nn.Flatten()"),
            1,
            "Conv2D: images must be (examples, 3, height, width); got f32[2,1,28,28]; in layers[0], Conv2D(weight",
        ),
        (
            GOOD.replace("nn.tanh", "nn.Dropout(1.5)"),
            1,
            "dropout: the rate must lie in [0, 1]; got 1.5. [mine.py:6]",
        ),
        (
            GOOD.replace(", nn.Dense(WIDTH, 10, seed=rng)", ""),
            1,
            "must return logits (examples, 10); for (2, 1, 28, 28)",
        ),
        (
            GOOD.replace("nn.tanh", "Hiding(nn.Dropout(0.5))").replace("nn\n", "nn\n" + HIDING, 1),
            1,
            "model: a Hiding hides its Dropout from training: put it into an nn.Chain",
        ),
        (GOOD.replace("nn.tanh", "lambda x: x[:, 99]"), 1, "mine.py:6: "),
    ],
)
def test_files_that_do_not_work(own, tmp_path, text, code, message):
    own(text).failed(code, message)
    assert not (tmp_path / "run").exists()


OPTIMISER = "lambda rate, steps: optim.momentum(rate)"
LOSS = "reconstruction_loss, classifies"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            OPTIMISER,
            "optim.adam(0.1)",
            "the optimiser of network must be a function, (rate, steps) -> Optimiser; got",
        ),
        (
            OPTIMISER,
            "lambda rate, steps: None",
            "must return an Optimiser; got None; does it return a value?",
        ),
        (OPTIMISER, "lambda rate: optim.scale(rate)", "must return an Optimiser; got Transform; optim.chain"),
        (
            OPTIMISER,
            "lambda: optim.adam(0.1)",
            "TypeError: <lambda>() takes 0 positional arguments but 1 was given",
        ),
        ("shifts(1)", "(lambda images: images)", "the vary of network must be a Variation of two functions"),
        (
            "shifts(1)",
            "Variation(None, lambda images, numbers: images)",
            "must be a Variation of two functions",
        ),
        (
            "shifts(1)",
            "Variation(lambda rng, n: 3, lambda images, numbers: images)",
            "must draw numbers (examples",
        ),
        (
            "shifts(1)",
            "Variation(lambda rng, n: rng.random(n), lambda images, numbers: None)",
            "as many images",
        ),
        (
            LOSS,
            "lambda m, x, y: m(x)",
            "must return two numbers, (loss, score); got ndarray (2, 784)",
        ),
        (
            LOSS,
            "lambda m, x, y: (m(x), 1.0)",
            "(loss, score); got (ndarray (2, 784), float)",
        ),
        (LOSS, "lambda m, x, y: None", "(loss, score); got None"),
        (LOSS, "None", "the loss of network must be a function, (model, inputs, labels)"),
        (
            "lambda rng: nn.Chain",
            "nn.Chain",
            "the network of network must be a function of a generator that returns",
        ),
        ("lambda rng: nn.Chain", "lambda rng: Plain", "got Plain; make Plain a dataclass (@dataclass)"),
    ],
)
def test_tasks_that_do_not_work(own, tmp_path, old, new, message):
    text = "class Plain:\n    def __init__(self, *layers): ...\n    def __call__(self, x): ...\n"
    text += "import numpy as np\nrng = np.random.default_rng(0)\nfrom wengert.train import Variation\n"
    rest = ", classifies" if old == LOSS else ""
    own(text + TASK.replace(old, new + rest)).failed(1, "model: ", message)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("make", ["lambda rate: optim.momentum(rate)", "optim.adam"])
def test_an_optimiser_of_the_rate_alone(own, make):
    ended = own(TASK.replace(OPTIMISER, make), "--dry-run")
    assert (ended.code, ended.err) == (0, "")


def test_an_error_in_the_middle_of_a_run(own):
    """The check before the run uses two images; a step uses a whole batch."""
    text = (
        GOOD.replace("nn.tanh", "squash")
        + "\ndef squash(x):\n    if len(x) > 2:\n        raise KeyError('mine')\n    return x\n"
    )
    own(text).failed(1, "model: there/mine.py:10: KeyError: 'mine'")


@pytest.mark.parametrize(
    "place", ["mine.py", "there/mine.txt:network", "there/mine.py:two words", "no.py:network"]
)
def test_places_that_do_not_exist(own, place):
    own(GOOD, model=place).failed(2, "model")

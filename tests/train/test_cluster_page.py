"""The scripts of docs/cluster.md for schedulers, run with programs in the place of Slurm's and of pip."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import mnist
from wengert.parallel.launch import find_mpiexec

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")
HAS_MPI = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")


def block(heading: str, language: str) -> str:
    """Return the first block of a language below a heading of the page."""
    _, _, section = PAGE.partition(f"\n## {heading}\n")
    found = re.search(rf"^```{language}\n(.*?)^```", section.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    assert found, heading
    return found[1]


SLURM, KUBERNETES = block("Slurm", "bash"), block("Kubernetes", "yaml")


def options(text: str) -> dict[str, str]:
    """Return the options of a command line that have a value."""
    return dict(re.findall(r"--([a-z-]+)[= ]([^\s\"]+)", text))


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Put a program into a folder in front of the others, by its name and the script of a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, text: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    put("wengert", f'exec {shlex.quote(sys.executable)} -m wengert "$@"')
    return put


def run(script: str, folder: Path, **variables: str) -> str:
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def epochs_of(run: Path) -> int:
    return (run / "metrics.jsonl").read_text().count('"kind": "epoch"')


def test_the_numbers_of_the_scripts_fit_together():
    resources = options("\n".join(line for line in SLURM.splitlines() if line.startswith("#SBATCH")))
    command = options(SLURM.partition("else")[2])
    micro_batches = int(command["micro-batches"])
    assert command["threads"] == resources["cpus-per-task"]
    assert micro_batches >= int(resources["ntasks"]) * int(command["threads"])
    assert int(command["batch-size"]) % micro_batches == 0
    assert options(SLURM.partition("else")[0])["mpi"] == command["mpi"]
    pod = options(KUBERNETES)
    assert int(pod["micro-batches"]) >= int(pod["ranks"]) > int(pod["min-ranks"])
    assert re.search(rf'cpu: "{pod["ranks"]}"', KUBERNETES)


@HAS_MPI
@pytest.mark.slow
def test_a_job_of_slurm_trains_and_goes_on(programs, small_mnist, tmp_path):
    mpiexec = find_mpiexec()
    programs("srun", f'shift; exec {shlex.join(mpiexec.command(2, []))} "$@" --epochs "$EPOCHS"')
    place = tmp_path / "run"
    variables = mpiexec.environment(2, tmp_path) | {"RUN": str(place), "DATA": str(small_mnist)}
    assert "2 ranks with 4 threads" in run(SLURM, tmp_path, **variables, EPOCHS="1")
    assert epochs_of(place) == 1
    assert "resumed" in run(SLURM, tmp_path, **variables, EPOCHS="2")
    assert epochs_of(place) == 2


@HAS_MPI
@pytest.mark.slow
def test_a_pod_of_kubernetes_trains_and_goes_on(programs, small_mnist, tmp_path):
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load(KUBERNETES)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    (container,), (volume,) = pod["containers"], pod["volumes"]
    (mount,) = container["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert pod["restartPolicy"] in ("Never", "OnFailure")  # of jobs
    assert container["command"] == ["bash", "-c"]
    (script,) = container["args"]
    script = script.replace(mount["mountPath"], str(tmp_path))
    few = f"{shlex.join(mnist(small_mnist))} --batch-size 80"
    script = script.replace("--batch-size 800", few).replace("--ranks 8", "--ranks 2")
    script = script.replace("--min-ranks 4", '--min-ranks 1 --epochs "$EPOCHS"')
    programs("pip", '[ "$*" = "install wengert[mpi]" ]')
    place = tmp_path / "cnn"
    assert "2 ranks" in run(script, tmp_path, EPOCHS="1")
    assert "resumed" in run(script, tmp_path, EPOCHS="2")
    assert epochs_of(place) == 2

"""Training on two hosts: namespaces of this machine with a network of their own, between which only a cable runs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import end, mnist, start, wait_for
from wengert.parallel.launch import find_mpiexec

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.slow,
]
ADDRESSES = {"first": "10.77.0.1", "second": "10.77.0.2"}
SETTINGS = "--epochs", "20", "--batch-size", "20", "--micro-batches", "4", "--seed", "5"
ENTER = """#!/bin/sh
# Stands for ssh: options, a host, a command.
while [ "${{1#-}}" != "$1" ]; do shift; done
case $1 in {first}) name=first ;; *) name=second ;; esac
shift
exec ip netns exec {prefix}$name unshare --uts sh -c "hostname $name; $*"
"""


def network(*words: str) -> None:
    ran = subprocess.run(["ip", *words], capture_output=True, text=True)
    if ran.returncode:
        pytest.skip(f"this machine allows no network namespaces: ip {' '.join(words)}: {ran.stderr.strip()}")


@pytest.fixture(scope="module")
def hosts():
    """Return the beginning of the names of two namespaces, which a cable connects."""
    if sys.platform != "linux" or not (shutil.which("ip") and shutil.which("unshare")):
        pytest.skip("this machine has no programs ip and unshare")
    prefix = f"wengert{os.getpid()}"
    try:
        for name in ADDRESSES:
            network("netns", "add", prefix + name)
        ends = [f"w{os.getpid()}{name[0]}" for name in ADDRESSES]
        network("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for (name, address), device in zip(ADDRESSES.items(), ends, strict=True):
            network("link", "set", device, "netns", prefix + name)
            network("-n", prefix + name, "address", "add", f"{address}/24", "dev", device)
            for each in (device, "lo"):
                network("-n", prefix + name, "link", "set", each, "up")
        yield prefix
    finally:
        for name in ADDRESSES:
            subprocess.run(["ip", "netns", "delete", prefix + name], capture_output=True)


@pytest.fixture
def on_hosts(hosts, tmp_path, monkeypatch):
    """Start the command on the first host; its mpiexec uses both."""
    enter, places = tmp_path / "enter", tmp_path / "hosts"
    enter.write_text(ENTER.format(prefix=hosts, **ADDRESSES))
    enter.chmod(0o755)
    if find_mpiexec().is_open_mpi:
        places.write_text("".join(f"{address} slots=2\n" for address in ADDRESSES.values()))
        monkeypatch.setenv("PRTE_MCA_plm_ssh_agent", str(enter))
        monkeypatch.setenv("PRTE_MCA_prte_default_hostfile", str(places))
        monkeypatch.setenv("PRTE_ALLOW_RUN_AS_ROOT", "1")
        monkeypatch.setenv("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    else:
        places.write_text("".join(f"{address}:2\n" for address in ADDRESSES.values()))
        monkeypatch.setenv("HYDRA_LAUNCHER", "ssh")
        monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", str(enter))
        monkeypatch.setenv("HYDRA_HOST_FILE", str(places))

    def begin(*arguments):
        inside = "ip", "netns", "exec", f"{hosts}first", "unshare", "--uts", "sh", "-c"
        script = f'hostname first; exec {sys.executable} -m wengert "$@"'
        return start(*arguments, cwd=tmp_path, program=(*inside, script, "sh"))

    return begin


def processes_on(namespace: str) -> list[int]:
    shown = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True)
    return [int(number) for number in shown.stdout.split()]


def test_two_hosts_change_no_bit_and_one_of_them_may_die(hosts, on_hosts, small_mnist, tmp_path):
    command = "train", "mlp", *mnist(small_mnist), *SETTINGS
    alone = end(start(*command, "--out", "alone", cwd=tmp_path))
    assert alone.code == 0, alone.err
    faults = "--ranks", 4, "--restarts", 1, "--log-every", 1, "--save-every", 0
    process = on_hosts(*command, *faults, "--out", "run")
    wait_for(lambda: (tmp_path / "run" / "metrics.jsonl").exists(), process)
    lost = processes_on(f"{hosts}second")
    assert len(lost) >= 3  # what mpiexec starts there, and two ranks
    for number in lost:
        os.kill(number, signal.SIGKILL)
    finished = end(process)
    assert finished.code == 0, finished.err
    assert "going on with 3, 0 restarts left" in finished.out
    models = [Path(tmp_path, run, "model.safetensors").read_bytes() for run in ("alone", "run")]
    assert models[0] == models[1]

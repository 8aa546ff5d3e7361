"""Jobs of programs in the place of mpiexec: what is shown of their failures."""

from __future__ import annotations

import io
import os
import sys

import pytest

from wengert.parallel.launch import Job, LaunchError, Mpiexec

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the program is a script of a Unix shell")
BEGIN = "import os; open(os.environ['WENGERT_JOB'] + '/first', 'w').write('0')"
FAIL = "import sys; sys.exit('not enough slots')"


@pytest.fixture
def job(tmp_path):
    """Return a job whose mpiexec runs the program once, and then prints a banner."""
    path = tmp_path / "mpiexec"
    path.write_text('#!/bin/sh\nshift 2\n"$@"\ncode=$?\necho "job aborted" >&2\nexit $code\n')
    path.chmod(0o755)
    return Job(Mpiexec(path, False), lambda label, text: None)


def run(job: Job, text: str) -> int:
    return job.run(lambda folder: [sys.executable, "-c", text], 2)


def test_a_job_that_does_not_begin_shows_the_reason(job, capfd):
    with pytest.raises(LaunchError, match="a rank died"):
        run(job, FAIL)
    assert capfd.readouterr().err == "not enough slots\njob aborted\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{BEGIN}; {FAIL}", ""),
        (
            f"{BEGIN}; import sys; print('wengert: it failed', file=sys.stderr); {FAIL}",
            "wengert: it failed\n",
        ),
        (FAIL.replace("not", "wengert: not"), "wengert: not enough slots\n"),
    ],
)
def test_a_job_that_began_shows_its_own_lines(job, capfd, text, shown):
    with pytest.raises(LaunchError, match="a rank died"):
        run(job, text)
    assert capfd.readouterr().err == shown


def test_each_attempt_gives_open_mpi_a_new_folder(job, tmp_path):
    """The files of a killed ``mpiexec`` end no later one that has its number."""
    job.mpiexec = job.mpiexec._replace(is_open_mpi=True)
    job.mpiexec.path.write_text(
        f'#!/bin/sh\necho "$PRTE_MCA_prte_local_tmpdir_base" >> {tmp_path}/folders\nexit 1\n'
    )
    with pytest.raises(LaunchError, match="a rank died"):
        job.run(lambda folder: ["true"], 3, restarts=2)
    folders = (tmp_path / "folders").read_text().split()
    assert len(set(folders)) == 3
    assert not any(map(os.path.exists, folders))


def test_a_job_that_ends_well(job, capfd, tmp_path):
    note = "import os; from pathlib import Path; Path(os.environ['WENGERT_JOB'], 'ended').write_text('3')"
    assert run(job, "pass") == 0
    assert run(job, note) == 3
    assert capfd.readouterr().err == "job aborted\n" * 2


WAITS = """
import os, sys, time
print("\x1efirst", file=sys.stderr, flush=True)
while not os.path.exists({seen!r}):
    time.sleep(0.01)
print("\x1ewengert: second\\n\x1ewengert: second", file=sys.stderr, flush=True)
"""


def test_marked_lines_are_shown_at_once_and_errors_once(job, tmp_path, monkeypatch):
    shown: list[str] = []

    class Errors(io.StringIO):
        def write(self, text):
            shown.append(text)
            (tmp_path / "seen").touch()
            return len(text)

    monkeypatch.setattr(sys, "stderr", Errors())
    assert run(job, WAITS.format(seen=str(tmp_path / "seen"))) == 0
    assert shown == ["first\n", "wengert: second\n", "job aborted\n"]


def test_the_reason_of_a_death_is_told(job):
    note = "import os, sys; open(os.environ['WENGERT_JOB'] + '/died', 'w').write('rank 1: no memory'); sys.exit(1)"
    with pytest.raises(LaunchError, match=r"^rank 1: no memory; start it again"):
        run(job, note)


def test_an_error_that_mpiexec_loses_is_shown(job, capfd):
    lost = "import os; os.dup2(os.open(os.devnull, os.O_WRONLY), 2)"
    fails = "from wengert.parallel.launch import explain; explain('wengert: too few'); os._exit(2)"
    with pytest.raises(LaunchError):
        run(job, f"{BEGIN}; {lost}; {fails}")
    assert capfd.readouterr().err == "wengert: too few\n"

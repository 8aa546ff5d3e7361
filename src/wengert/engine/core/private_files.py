"""Folders and files that only this user can write, and a secret in such a file."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

_SECRET_BYTES = 32
"""The size of SHA-256: shorter secrets are weaker, longer secrets are not stronger."""
_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe without a writer would block forever
    | getattr(os, "O_BINARY", 0)
)


def cache_folder() -> Path | None:
    """Return the folder for files of this user that programs can make again; None if the user has none."""
    if sys.platform == "win32":
        return Path(os.environ["LOCALAPPDATA"]) if os.environ.get("LOCALAPPDATA") else None
    return _home_folder("XDG_CACHE_HOME", ("Library", "Caches"), (".cache",))


def state_folder() -> Path | None:
    """Return the folder for files of this user that programs must keep; None if the user has none."""
    if sys.platform == "win32":
        return cache_folder()
    return _home_folder("XDG_STATE_HOME", ("Library", "Application Support"), (".local", "state"))


def _home_folder(variable: str, darwin: tuple[str, ...], linux: tuple[str, ...]) -> Path | None:
    chosen = "" if sys.platform == "darwin" else os.environ.get(variable, "")
    if os.path.isabs(chosen):
        return Path(chosen)
    try:
        return Path.home().joinpath(*(darwin if sys.platform == "darwin" else linux))
    except RuntimeError:  # no home
        return None


# -- folders ---------------------------------------------------------------------------------------------


def weakness(folder: Path) -> str:
    """Return how others could change the contents of a folder, with a remedy; an empty string if they could not.

    The folder must belong to the user, and nobody else may write to it. Nobody else may replace entries of the folders
    above it: they belong to the user or the administrator, and have the sticky bit where others may write. For a folder
    that does not exist, the folders above it are checked. Systems without user ids, such as Windows, are not checked.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     before = weakness(Path(folder))
        ...     os.chmod(folder, 0o777)
        ...     before, weakness(Path(folder)).replace(os.path.realpath(folder), "folder")
        ('', 'others may write into folder (mode 777); chmod go-w folder')
    """
    if not hasattr(os, "geteuid"):
        return ""
    target = Path(os.path.realpath(folder))
    for path in (target, *target.parents):
        try:
            facts = os.stat(path)
        except OSError:  # it does not exist, and will belong to its creator
            continue
        reason = _weakness_of_target(path, facts) if path == target else _weakness_of_parent(path, facts)
        if reason:
            return reason
    return ""


def _weakness_of_target(folder: Path, facts: os.stat_result) -> str:
    if facts.st_uid != os.geteuid():
        return f"{folder} belongs to another user (uid {facts.st_uid})"
    if facts.st_mode & 0o022:
        return f"others may write into {folder} (mode {stat.S_IMODE(facts.st_mode):o}); chmod go-w {folder}"
    return ""


def _weakness_of_parent(folder: Path, facts: os.stat_result) -> str:
    # In some containers the root folder, and the system, belong to a user whose uid is not 0.
    if facts.st_uid not in (os.geteuid(), 0, os.stat(os.sep).st_uid):
        return f"{folder}, above it, belongs to another user (uid {facts.st_uid})"
    by_group = facts.st_mode & 0o020 and not _is_private_group(facts.st_gid)
    if (facts.st_mode & 0o002 or by_group) and not facts.st_mode & stat.S_ISVTX:
        mode = f"mode {stat.S_IMODE(facts.st_mode):o}, not sticky"
        return f"others may replace files in {folder} ({mode}); chmod go-w {folder}"
    return ""


def _is_private_group(number: int) -> bool:
    try:
        import grp
        import pwd

        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def make_folder(folder: Path) -> None:
    """Make a folder, and missing folders above it, for this user alone."""
    for path in reversed((folder, *folder.parents)):
        with contextlib.suppress(FileExistsError):
            if not path.is_dir():
                path.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")


# -- files -----------------------------------------------------------------------------------------------


def read_own(path: Path, *, hidden: bool = False) -> bytes | None:
    """Return the contents of a regular file that only this user can write; None for a missing or any other file.

    A ``hidden`` file is one that others must not be able to read, either.
    """
    try:
        number = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError:
        return None
    try:
        if not _is_own(os.fstat(number), 0o077 if hidden else 0o022):
            return None
        with open(number, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(number)


def _is_own(facts: os.stat_result, forbidden: int) -> bool:
    if not stat.S_ISREG(facts.st_mode):
        return False
    return not hasattr(os, "geteuid") or (facts.st_uid == os.geteuid() and not facts.st_mode & forbidden)


def write_own(path: Path, data: bytes, *, only_new: bool = False) -> None:
    """Write a file for this user alone, atomically; ``only_new`` keeps an existing one, if the system has hard links.

    Raises:
        OSError: it cannot be written, or exists already.
    """
    number, temporary = tempfile.mkstemp(suffix=".tmp", dir=path.parent)  # only this user may read it
    try:
        with open(number, "wb") as file:
            file.write(data)
        if only_new and _linked(temporary, path):
            os.unlink(temporary)
        else:
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def add_line(path: Path, line: str) -> None:
    """Append a line to a file for this user alone; make the file if it is missing.

    Raises:
        OSError: it cannot be written, or is not a regular file of this user.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FLAGS
    number = os.open(path, flags, 0o600)
    try:
        if not _is_own(os.fstat(number), 0o022):
            raise PermissionError(f"{path} is not a regular file of this user alone")
        os.write(number, f"{line}\n".encode())
    finally:
        os.close(number)


def _linked(file: str, path: Path) -> bool:
    """Link a file to a new name; return whether the file system supports links."""
    try:
        os.link(file, path)
    except FileExistsError:
        raise
    except (OSError, AttributeError, NotImplementedError):
        return False
    return True


# -- a secret --------------------------------------------------------------------------------------------


def secret(path: Path) -> bytes | None:
    """Return the secret in a file, random bytes that only this user may read; None without a valid one."""
    data = read_own(path, hidden=True)
    return data if data is not None and len(data) == _SECRET_BYTES else None


def made_secret(path: Path) -> bytes | None:
    """Return the secret in a file; make a new one if it is missing or damaged.

    If several processes make one at the same time, all return the first.
    """
    # Before the file is read: one that another process makes meanwhile is not a damaged one.
    was_there = os.path.lexists(path)
    data = secret(path)
    if data is None:
        with contextlib.suppress(FileExistsError):
            write_own(path, os.urandom(_SECRET_BYTES), only_new=not was_there)
        data = secret(path)
    return data

"""Folders and files that nobody but this user can have written, and a secret that is kept in one."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

_SECRET_BYTES = 32
"""As many as SHA-256 has: a shorter one is weaker, a longer one no stronger."""
_CAREFULLY = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe that nobody writes into would wait for ever
    | getattr(os, "O_BINARY", 0)
)


def cache_folder() -> Path | None:
    """Return where programs of this user keep what they can make again; None where the user has no such place."""
    try:
        if sys.platform == "win32":
            return Path(os.environ["LOCALAPPDATA"]) if os.environ.get("LOCALAPPDATA") else None
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        return Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"
    except RuntimeError:  # no home
        return None


def state_folder() -> Path | None:
    """Return where programs of this user keep what they must not forget; None where the user has no such place."""
    try:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support"
        if sys.platform == "win32":
            return cache_folder()
        chosen = os.environ.get("XDG_STATE_HOME", "")
        return Path(chosen) if os.path.isabs(chosen) else Path.home() / ".local" / "state"
    except RuntimeError:  # no home
        return None


# -- folders ---------------------------------------------------------------------------------------------


def weakness(folder: Path) -> str:
    """Say how others could change the contents of a folder, and what to do about it; an empty text if they could not.

    The folder must be the user's, and nobody else may write into it. Nobody else may replace entries of the folders
    above it: they belong to the user or the administrator, and where others may write, the sticky bit is set. A folder
    that does not exist is judged by those above it. Systems without user ids, such as Windows, are not checked.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     before = weakness(Path(folder))
        ...     os.chmod(folder, 0o777)
        ...     before, weakness(Path(folder)).replace(os.path.realpath(folder), "folder")
        ('', 'others may write into folder (mode 777); chmod go-w folder')
    """
    if not hasattr(os, "geteuid"):
        return ""
    place = Path(os.path.realpath(folder))
    for one in (place, *place.parents):
        try:
            facts = os.stat(one)
        except OSError:  # it is not there, and who makes it owns it
            continue
        found = _weakness_inside(one, facts) if one == place else _weakness_above(one, facts)
        if found:
            return found
    return ""


def _weakness_inside(folder: Path, facts: os.stat_result) -> str:
    if facts.st_uid != os.geteuid():
        return f"{folder} belongs to another user (uid {facts.st_uid})"
    if facts.st_mode & 0o022:
        return f"others may write into {folder} (mode {stat.S_IMODE(facts.st_mode):o}); chmod go-w {folder}"
    return ""


def _weakness_above(folder: Path, facts: os.stat_result) -> str:
    # Inside some containers the root folder, and with it the system, belongs to a user whose uid is not 0.
    if facts.st_uid not in (os.geteuid(), 0, os.stat(os.sep).st_uid):
        return f"{folder}, above it, belongs to another user (uid {facts.st_uid})"
    by_group = facts.st_mode & 0o020 and not _is_private_group(facts.st_gid)
    if (facts.st_mode & 0o002 or by_group) and not facts.st_mode & stat.S_ISVTX:
        mode = f"mode {stat.S_IMODE(facts.st_mode):o}, not sticky"
        return f"others may replace what is in {folder} ({mode}); chmod go-w {folder}"
    return ""


def _is_private_group(number: int) -> bool:
    """Tell whether a group is the user's own, as many systems make one for each user."""
    try:
        import grp
        import pwd

        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are not there, for this user alone.

    Raises:
        OSError: it cannot be made.
    """
    for one in reversed((folder, *folder.parents)):
        with contextlib.suppress(FileExistsError):
            if not one.is_dir():
                one.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder")


# -- files -----------------------------------------------------------------------------------------------


def read_own(path: Path, *, hidden: bool = False) -> bytes | None:
    """Return the contents of a file of this user; None if it is missing, a link, no plain file, or not his alone.

    Args:
        path: the file.
        hidden: whether others must not be able to read it, either.
    """
    try:
        number = os.open(path, os.O_RDONLY | _CAREFULLY)
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
    """Write a file for this user alone: whole or not at all.

    Args:
        path: the file; its folder is there.
        data: what it is to hold.
        only_new: whether a file that is there stays, where the system can tell.

    Raises:
        OSError: it cannot be written, or is there.
    """
    number, temporary = tempfile.mkstemp(suffix=".tmp", dir=path.parent)  # which no one else may read
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
    """Add a line to a file for this user alone, which is made if it is not there.

    Raises:
        OSError: it cannot be written, or is no plain file of this user.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _CAREFULLY
    number = os.open(path, flags, 0o600)
    try:
        if not _is_own(os.fstat(number), 0o022):
            raise PermissionError(f"{path} is no plain file of this user alone")
        os.write(number, f"{line}\n".encode())
    finally:
        os.close(number)


def _linked(file: str, path: Path) -> bool:
    """Give a file another name that is new; tell whether the file system has second names."""
    try:
        os.link(file, path)
    except FileExistsError:
        raise
    except (OSError, AttributeError, NotImplementedError):
        return False
    return True


# -- a secret --------------------------------------------------------------------------------------------


def secret(path: Path) -> bytes | None:
    """Return the secret that a file holds: random bytes, which only this user may read; None if there is none."""
    found = read_own(path, hidden=True)
    return found if found is not None and len(found) == _SECRET_BYTES else None


def made_secret(path: Path) -> bytes | None:
    """Return the secret that a file holds, made if there is none or a damaged one.

    Of several processes that make one at the same time, all return that of the first.

    Raises:
        OSError: it cannot be written.
    """
    found = secret(path)
    if found is None:
        with contextlib.suppress(FileExistsError):
            write_own(path, os.urandom(_SECRET_BYTES), only_new=not os.path.lexists(path))
        found = secret(path)
    return found

"""A PostgreSQL server of the tests' own: made in a folder, reached through a socket in it alone, and taken away after."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from subprocess import DEVNULL
from tempfile import mkdtemp

USERS = ("postgres", "nobody")
"""Whom the server runs as where the tests run as root, which it refuses."""


def programs() -> Path | None:
    """Return the folder of the server's programs, if it is installed."""
    found = [shutil.which("initdb"), *sorted(glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    return next((Path(path).resolve().parent for path in found if path), None)


@contextmanager
def server() -> Iterator[str]:
    """Start a server; yield the URL of its database."""
    where = programs()
    assert where is not None
    folder = Path(mkdtemp(prefix="understudy-pg-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [where / program, "-D", folder / "data", *arguments], user=user, cwd=folder, check=True, stdout=DEVNULL
        )

    try:
        run("initdb", "-U", "owner", "-A", "trust", "-N", "-E", "UTF8")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://owner@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str | None:
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in USERS if name in known)

"""Reads the fenced blocks of a Markdown page and plays them, in order, in one folder, as a reader would.

Public: it sees only the pages and made-up tables.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BOX = re.compile(r"[\u2500-\u257f\s]+")
UNSTABLE = re.compile(r"[\d…]")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words after that, its text, and where it starts (1 is the first line)."""

    language: str
    words: dict[str, str]
    text: str
    line: int


@dataclass
class Player:
    """Plays blocks in ``folder``. ``after`` does what the reader does by hand once a command that starts so has run."""

    folder: Path
    unrun: dict[str, str] = field(default_factory=dict)
    after: dict[str, Callable[[Path], None]] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=dict)

    def play(self, blocks: list[Block]) -> int:
        """Run every sh and python block, compare the text block right after it; return how many ran."""
        played = 0
        for block, following in zip_longest(blocks, blocks[1:]):
            if block.language not in ("sh", "python"):
                continue
            output = self.run_shell(block) if block.language == "sh" else self.run_python(block)
            played += 1
            if following is not None and following.language == "text":
                missing = missing_lines(following.text, output)
                assert not missing, f"line {following.line}: the page shows {missing}, the command printed:\n{output}"
        return played

    def run_python(self, block: Block) -> str:
        """Run the block in the page's namespace, in its folder."""
        printed = io.StringIO()
        with chdir(self.folder), redirect_stdout(printed):
            exec(compile("\n" * block.line + block.text, "page", "exec"), self.namespace)
        return printed.getvalue()

    def run_shell(self, block: Block) -> str:
        """Run the lines one by one; each must end with status 0, the last with the block's ``exit``."""
        lines = [line for line in block.text.splitlines() if line.strip() and not self.is_unrun(line)]
        output = ""
        for number, line in enumerate(lines, start=1):
            done = shell(line, self.folder)
            wanted = int(block.words.get("exit", "0")) if number == len(lines) else 0
            said = f"line {block.line}: `{line}` ended with {done.returncode}, not {wanted}:\n{done.stdout}"
            assert done.returncode == wanted, said
            output += done.stdout
            for start, act in self.after.items():
                if line.startswith(start):
                    act(self.folder)
        return output

    def is_unrun(self, line: str) -> bool:
        return any(line.startswith(start) for start in self.unrun)


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line with this Python's own programs first on the path; standard error is part of the output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def read_blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page; ``key=value`` words after the language are kept."""
    for found in FENCE.finditer(text):
        words = dict(word.split("=", 1) for word in found[2].split() if "=" in word)
        yield Block(found[1], words, found[3], text.count("\n", 0, found.start()) + 1)


def missing_lines(shown: str, output: str) -> list[str]:
    """Return the stable lines of ``shown`` (neither digits nor … in them) that are not in ``output``."""
    printed = plain(output)
    return [line for line in shown.splitlines() if not UNSTABLE.search(line) and plain(line) not in printed]


def plain(text: str) -> str:
    """Return the text without table borders, and with single blanks: how wide a column is may differ from run to run."""
    return BOX.sub(" ", text).strip()

"""A table full of marks that may never come out: texts found nowhere else, and numbers of rows that nothing public has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from release_tables import table

ROWS = 7919
"""The thousandth prime. The two below are primes as well: how many women there are, and how many of no listed sex."""
WOMEN, UNLISTED = 2753, 3989
MARK = "kanarienvogel"
"""In every private text, and in no public one."""
NUMBERS = (ROWS, WOMEN, UNLISTED)
SHOWN = re.compile("|".join(rf"(?<![0-9A-Za-z.,\-]){n // 1000}[,_ ']?{n % 1000:03d}(?![0-9A-Za-z]|[.,]\d)" for n in NUMBERS))
"""Such a number, as a person or a program would write it; not as part of another number or of a hash."""


def private_table() -> pa.Table:
    """Return a table with a mark as an unlisted value, in an undeclared column, in its name, and in a column of numbers."""
    made = table(ROWS, seed=11)
    men = ROWS - WOMEN - UNLISTED
    sex = ["F"] * WOMEN + [f"{MARK}-{i}" for i in range(UNLISTED)] + ["M"] * men
    age = [str(value) for value in made.column("age").to_pylist()]
    age[5] = f"{MARK} years"
    made = made.set_column(made.column_names.index("sex"), "sex", pa.array(sex))
    made = made.set_column(made.column_names.index("age"), "age", pa.array(age))
    return made.append_column(f"{MARK}-column", pa.array([f"{MARK} {i}" for i in range(ROWS)]))


def leaks(text: str) -> list[str]:
    """Return every mark and every exact number in ``text``, with a little of what is around it."""
    found = [text[max(0, m.start() - 30) : m.end() + 30] for m in SHOWN.finditer(text)]
    place = text.lower().find(MARK)
    return found if place < 0 else [*found, text[max(0, place - 60) : place + 40]]


def leaks_in(folder: Path) -> Iterator[str]:
    """Look through every file below a folder: names, texts, arrays, and the bytes of everything else."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        yield from (f"the name {name}: {leak}" for leak in leaks(name))
        if path.is_file():
            yield from (f"{name}: {leak}" for leak in _content(path))


def _content(path: Path) -> list[str]:
    content = path.read_bytes()
    if path.suffix == ".npy":
        numbers = np.load(path, allow_pickle=False)
        return [f"the number {n}" for n in NUMBERS if (numbers == n).any()]
    found = leaks(content.decode("utf-8", "replace"))
    if path.suffix not in (".csv", ".html", ".json", ".md", ".toml"):  # a database may hold numbers in binary
        found += [
            f"the number {n} in binary"
            for n in NUMBERS
            for order in ("<i8", ">i8")
            if np.array(n, order).tobytes() in content
        ]
    return found

"""A sample of any length: a folder of Parquet files, each drawn by itself, so that it can be gone on with. Public.

The folder says in ``_sample.json`` what is drawn there. Each part has a generator of its own, made of the seed and of its
number: the same seed gives the same rows, in whatever order and by however many processes the parts are drawn. A part is
written under another name and then renamed: what has its name is whole.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.errors import FormatError, UserError
from understudy.release.contents import Contents
from understudy.release.drawing import Drawing
from understudy.release.marks import marked_path
from understudy.release.tables import write_tables

DESCRIPTION = "_sample.json"
"""Readers of Parquet folders pass over names that begin so."""
HEAD = {"format": "understudy-sample", "version": 1}
MOST_ROWS, MOST_VALUES = 1_000_000, 1 << 25
"""Of a part. A process holds one at a time, so its memory is the same however many rows are drawn."""


@dataclass(frozen=True)
class Sample:
    """What is drawn: so many rows of a release, with a seed, in parts of so many rows."""

    release: str
    """A digest of what the rows are drawn from."""
    rows: int
    part_rows: int
    seed: int
    given: Mapping[str, Any]
    private: bool
    notice: str
    refined: bool = False
    """Whether the counts of each part are brought nearer to the model's on the workload."""

    @classmethod
    def of(
        cls,
        contents: Contents,
        rows: int,
        given: Mapping[str, Any] | None,
        seed: int | None,
        part_rows: int | None = None,
        *,
        refined: bool = False,
    ) -> Sample:
        """Say what is drawn from ``contents``. Without a seed, one is made up."""
        plain = json.loads(json.dumps(dict(given or {}), default=str))
        most = part_rows or max(1, min(MOST_ROWS, MOST_VALUES // len(contents.schema.columns)))
        chosen = secrets.randbits(128) if seed is None else seed
        return cls(_digest(contents), rows, most, chosen, plain, contents.private, contents.notice, refined)

    @property
    def parts(self) -> int:
        """How many parts there are: a sample of no rows is one part without rows."""
        return max(1, -(-self.rows // self.part_rows))

    def rows_of(self, part: int) -> int:
        """Return the rows of one part; the last may have fewer."""
        return min(self.part_rows, self.rows - part * self.part_rows)

    def drawing(self, contents: Contents) -> Drawing:
        """Return what draws its rows."""
        return Drawing(contents, self.given, refined=self.refined)

    def tables(self, part: int, drawing: Drawing) -> Iterator[pa.Table]:
        """Draw one part, some rows at a time."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(part,)))
        return (table.arrow for table in drawing.tables(self.rows_of(part), rng))


class Parts:
    """The folder of a sample. ``mine`` is in the names of what is being written: two runs never write to one file."""

    def __init__(self, folder: Path, sample: Sample, mine: str | None = None) -> None:
        self.folder, self.sample, self.mine = folder, sample, mine or uuid4().hex[:12]

    @classmethod
    def begun(cls, folder: Path, asked: Sample, *, seeded: bool) -> Parts:
        """Return the folder of what is ``asked``: a new one, or the one in which it was begun. Any other is refused."""
        description = folder / DESCRIPTION
        if description.exists():
            found = _described(description)
            wanted = asked if seeded else replace(asked, seed=found.seed)
            if found != wanted:
                raise UserError(f"{folder} has {_difference(found, wanted)}. Ask for the same, or name another folder.")
            return cls(folder, found)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"{folder} has something else in it. Name a folder that is empty or new.")
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(folder, asked)
        with made.renamed(description) as path:
            path.write_text(json.dumps(HEAD | asdict(asked), indent=1) + "\n", encoding="utf-8")
        return made

    def path(self, part: int) -> Path:
        """Return the name of a part."""
        return marked_path(self.folder / f"part-{part:06d}.parquet", self.sample.private)

    def missing(self) -> list[int]:
        """Return the parts that are not there, or not whole."""
        return [part for part in range(self.sample.parts) if not self._whole(part)]

    def write(self, part: int, drawing: Drawing) -> None:
        """Draw and write one part."""
        with self.renamed(self.path(part)) as path:
            write_tables(self.sample.tables(part, drawing), path, drawing.schema)

    @contextmanager
    def renamed(self, path: Path) -> Iterator[Path]:
        """Yield another name to write to, which becomes ``path`` when all went well."""
        hidden = path.with_name(f".{path.name}.{self.mine}")
        try:
            yield hidden
            hidden.replace(path)
        finally:
            hidden.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove what this run began and did not finish."""
        for path in self.folder.glob(f".*.{self.mine}*"):
            path.unlink(missing_ok=True)

    def _whole(self, part: int) -> bool:
        with suppress(OSError, pa.ArrowException):
            return bool(pq.read_metadata(self.path(part)).num_rows == self.sample.rows_of(part))
        return False


def draw(contents: Contents, rows: int, given: Mapping[str, Any] | None, seed: int | None) -> Iterator[pa.Table]:
    """Yield the rows of all parts of a sample, some at a time; what cannot be drawn is refused at once."""
    sample = Sample.of(contents, rows, given, seed)
    drawing = Drawing(contents, sample.given)
    return (table for part in range(sample.parts) for table in sample.tables(part, drawing))


def _digest(contents: Contents) -> str:
    """Tell releases apart by what rows are drawn from."""
    found = hashlib.sha256(contents.manifest.model_dump_json().encode())
    for part in contents.model.told():
        found.update(part)
    return found.hexdigest()


def _described(path: Path) -> Sample:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if {name: document.pop(name) for name in HEAD} == HEAD:
            return Sample(**document)
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise FormatError(f"{path} is damaged, or of another version of this software. Name another folder.")


def _difference(found: Sample, wanted: Sample) -> str:
    """Say what a folder has that is not what is wanted."""
    if found.release != wanted.release:
        return "a sample of another release"
    words = {"rows": "{:,} rows", "part_rows": "parts of {:,} rows", "seed": "the seed {}", "given": "the given values {}"}
    words["refined"] = "refined = {}"
    name = next((name for name in words if getattr(found, name) != getattr(wanted, name)), None)
    return "another sample" if name is None else "a sample with " + words[name].format(getattr(found, name))

"""A sample whose parts Spark's executors draw: into files of a folder that they share, or into a DataFrame. Public.

The release goes to the executors without its table, inside the task; PySpark broadcasts a task of more than a megabyte.
A part is drawn as anywhere else, so the rows are the same for the same seed. A task that is begun twice draws the same rows
again, and writes under a name of its own until they are whole.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pyarrow as pa

from understudy.errors import SourceError
from understudy.release.contents import Contents
from understudy.release.crew import write_without_rows
from understudy.release.drawing import Drawing
from understudy.release.frames import plain
from understudy.release.parts import Parts, Sample
from understudy.release.storage import read
from understudy.source.guard import guarded

Batches = Iterator[pa.RecordBatch]
_ADVICE = "Have the executors this package, and memory?"


@dataclass(frozen=True)
class Rows:
    """A task: numbers of parts into the rows of these parts."""

    release: bytes
    sample: Sample

    def __call__(self, numbers: Batches) -> Batches:
        """Draw them one after the other."""
        drawing = opened(self.release, json.dumps(self.sample.given), refined=self.sample.refined)
        for part in _numbers(numbers):
            for table in self.sample.tables(part, drawing):
                yield from plain(table).to_batches()


@dataclass(frozen=True)
class Files:
    """A task: positions in the list of missing parts into files in ``folder``, which all executors must share."""

    release: bytes
    sample: Sample
    folder: str
    mine: str
    missing: Sequence[int]

    def __call__(self, numbers: Batches) -> Batches:
        """Hand on which parts are there."""
        drawing = opened(self.release, json.dumps(self.sample.given), refined=self.sample.refined)
        for place in _numbers(numbers):
            parts = Parts(Path(self.folder), self.sample, f"{self.mine}.{uuid4().hex[:12]}")
            parts.write(self.missing[place], drawing)
            yield pa.RecordBatch.from_pydict({"part": [self.missing[place]]})


def draw_files(contents: Contents, parts: Parts, missing: Sequence[int], session: Any) -> Generator[int, None, None]:
    """Have the executors of ``session`` write the parts that are missing; yield which are there."""
    task = Files(packed(contents), parts.sample, str(parts.folder.absolute()), parts.mine, missing)
    with guarded("A sample of Spark", _ADVICE):
        done = _mapped(session, len(missing), task, "part long").collect()
    if lost := parts.missing():
        raise SourceError(
            f"Spark's executors have written {len(missing) - len(lost):,} of {len(missing):,} parts to {parts.folder}. "
            "Name a folder that all of them and this process share; or take the rows as a DataFrame (Release.sample_frame)."
        )
    yield from (row["part"] for row in done)


def draw_frame(contents: Contents, sample: Sample, session: Any) -> Any:
    """Return the sample as a DataFrame of ``session``, a partition for each part; drawn when Spark asks for the rows."""
    from pyspark.sql.pandas.types import from_arrow_schema

    types = from_arrow_schema(plain(contents.schema.arrow_schema.empty_table()).schema)
    return _mapped(session, sample.parts, Rows(packed(contents), sample), types)


def _mapped(session: Any, parts: int, task: Any, types: Any) -> Any:
    """Return what ``task`` makes of the numbers 0 … ``parts`` - 1, each in a partition of its own."""
    return session.range(0, parts, 1, max(parts, 1)).mapInArrow(task, types)


def _numbers(batches: Batches) -> Iterator[int]:
    return (int(number) for batch in batches for number in batch.column(0).to_pylist())


def packed(contents: Contents) -> bytes:
    """Return a release without its table, as the bytes of an archive."""
    made = BytesIO()
    with TemporaryDirectory(prefix="understudy-") as name, ZipFile(made, "w") as archive:
        write_without_rows(contents, Path(name))
        for path in sorted(Path(name).rglob("*")):
            archive.write(path, path.relative_to(name))
    return made.getvalue()


@lru_cache(maxsize=1)
def opened(release: bytes, given: str, *, refined: bool) -> Drawing:
    """Return what draws rows of a packed release; the next task of the same process finds it here."""
    with TemporaryDirectory(prefix="understudy-") as name, ZipFile(BytesIO(release)) as archive:
        archive.extractall(name)
        return Drawing(read(Path(name)), json.loads(given), refined=refined)

"""A release on disk: a folder of open formats, written all or not at all, and read back without running any code.

Public. The folder holds ``release.json``, ``synthetic.csv`` or ``.parquet``, ``model/``, ``measurements/``, ``inside/``,
``schema.toml``, ``privacy-card.md`` and ``report.html``; each file of a release that is not private says so, in its text or
in its name.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import IO, Any, Literal, TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pydantic import Field, ValidationError

from understudy.domain import Clique, Domain
from understudy.errors import FormatError, SchemaError, UserError
from understudy.manifest.manifest import FORMAT, VERSION, Amount, Entry, Finite, Manifest
from understudy.model import load_model, save_model
from understudy.privacy import LinearMap, Measurement, stored_map
from understudy.release.contents import Contents
from understudy.release.marks import marked_path
from understudy.release.synthetic import SyntheticTable
from understudy.release.tables import read_table, write_tables
from understudy.release.toml import schema_toml
from understudy.schema import Schema, parse_schema
from understudy.schema.column import fine_name
from understudy.schema.gaps import gap_name

LARGEST_JSON = 1 << 28
HIGHEST_SCALE = 1e30
"""No budget that is accepted leads to more noise, nor to as little as one over it: squares of it are no numbers."""
ROOM, BYTES_PER_VALUE = 32 << 20, 24
"""What must be free on the disk before a run: for the model and the rest, and for each value of the table."""

T = TypeVar("T", bound=Entry)
C = TypeVar("C", bound=Contents)


class _Query(Entry):
    """A linear query: what the values answer about the marginal; weights, if any, follow in ``queries.npy``."""

    kind: str
    answers: int = Field(gt=0, lt=1 << 31)
    weights: int = Field(default=0, ge=0, description="How many numbers of queries.npy are its weights.")


class _Measured(Entry):
    attributes: list[str]
    noise: Literal["gaussian", "laplace"]
    scale: Finite = Field(gt=1 / HIGHEST_SCALE, lt=HIGHEST_SCALE)
    rho: Amount
    query: _Query | None = None


class _Index(Entry):
    """``measurements.json``: what each run of numbers in ``values.npy`` is."""

    format: Literal["understudy-measurements"] = "understudy-measurements"
    version: Literal[1] = 1
    notice: str = ""
    measurements: list[_Measured]


def save(release: C, folder: Path, *, format: str, page: Callable[[C], str] | None = None, overwrite: bool = False) -> Path:
    """Write ``release`` to a folder beside ``folder``, with its ``page`` if one is made, then name it in one step."""
    require_format(format)
    refuse_existing(folder, overwrite)
    with staged(folder) as draft:
        write_into(release, draft, format)
        if page is not None:  # last, since it is a page about the others
            (draft / "report.html").write_text(page(release), encoding="utf-8", newline="\n")
    return folder


def require_format(format: str) -> None:
    """Refuse a format of the table that there is not."""
    if format not in ("csv", "parquet"):
        raise UserError(f'There is no table format "{format}"; choose csv or parquet.')


def refuse_existing(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that is there already; ``overwrite`` replaces a release, and never anything else."""
    if not os.path.lexists(folder):
        return
    if not overwrite:
        raise UserError(
            f"{folder} exists already. Name another folder, or overwrite it (--overwrite, in Python overwrite=True)."
        )
    if not (folder / "release.json").is_file():
        raise UserError(f"{folder} is not a release, so it is not overwritten. Name another folder.")


def write_into(release: Contents, folder: Path, format: str) -> None:
    """Write every file of ``release`` but its page into an existing folder."""
    write_tables(release.synthetic.tables(), marked_path(folder / f"synthetic.{format}", release.private), release.schema)
    save_model(release.model, folder / "model", notice=release.notice)
    _write_measurements(release.measurements, folder / "measurements", release.notice)
    if release.fine:
        _write_measurements(release.fine, folder / "inside", release.notice)
    (folder / "schema.toml").write_text(schema_toml(release.schema.declaration, release.notice), encoding="utf-8")
    (folder / "privacy-card.md").write_text(release.card, encoding="utf-8")
    text = json.dumps(release.manifest.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "release.json").write_text(text + "\n", encoding="utf-8")


def require_room(folder: Path, values: int) -> None:
    """Refuse, before any spend, a place that cannot be written to or has no room for a release of so many values."""
    probe = folder.parent / f".{folder.name}.{uuid4().hex[:12]}.room"
    with _writing(folder, " Nothing was spent."):
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            with probe.open("xb") as stream:
                _fill(stream, ROOM + BYTES_PER_VALUE * values)
        finally:
            probe.unlink(missing_ok=True)


def _fill(stream: IO[bytes], size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(stream.fileno(), 0, size)
    elif shutil.disk_usage(stream.name).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def _writing(folder: Path, consequence: str = "") -> Iterator[None]:
    """Turn what the system says about writing to ``folder`` into advice."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    else:
        return
    raise UserError(
        f"{folder} cannot be written ({reason}). Is there room on the disk, and is the folder above it yours?{consequence}"
    )


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder beside ``folder``; it becomes ``folder`` when all went well, and vanishes when not."""
    draft = folder.parent / f".{folder.name}.{uuid4().hex[:12]}.part"
    try:
        with _writing(folder):
            draft.mkdir(parents=True)
            yield draft
            _sync(draft)
            _swap(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Have every file on disk before the folder gets its name."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())


def _swap(draft: Path, folder: Path) -> None:
    """Give ``draft`` its name; what had the name before is absent for an instant, and never half."""
    if folder.exists():
        old = draft.with_suffix(".old")
        folder.rename(old)
        draft.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        draft.rename(folder)


def read(folder: Path) -> Contents:
    """Read back what ``save`` wrote; a missing, damaged, foreign or too new folder is a ``FormatError``."""
    manifest = _manifest(folder / "release.json")
    schema = _schema(manifest)
    model = load_model(folder / "model")
    if model.domain == schema.lifted.domain:  # a release of an earlier version has no codes of derived columns
        schema = schema.lifted
    if model.domain != schema.domain:
        raise FormatError(f"{folder} is damaged: its model and its schema are of different tables.")
    measurements = _read_measurements(folder / "measurements", schema.domain, manifest.private)
    table = SyntheticTable(schema, _table(folder, schema, manifest.private))
    return Contents(manifest, schema, model, measurements, table, _read_fine(folder / "inside", schema, manifest))


def _manifest(path: Path) -> Manifest:
    document = _json(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{path} is not a release of Understudy.")
    found = document.get("version")
    if isinstance(found, int) and found > VERSION:
        raise FormatError(f"{path} has format version {found}; this software reads up to {VERSION}: upgrade it.")
    manifest = _validated(Manifest, document, path)
    if sum(c.rho.fraction for c in manifest.charges) != manifest.privacy.spent.fraction:
        raise FormatError(f"{path} is damaged: its charges do not add up to what it says was spent.")
    return manifest


def _schema(manifest: Manifest) -> Schema:
    try:
        return parse_schema(json.dumps(manifest.declaration), source="The release's schema", form="json")
    except SchemaError as problem:
        raise FormatError(f"The release is damaged: {str(problem).splitlines()[0]}") from None


def _table(folder: Path, schema: Schema, private: bool) -> pa.Table:
    plain = [folder / f"synthetic.{ending}" for ending in ("parquet", "csv")]
    for path in [*(marked_path(path, private) for path in plain), *plain]:
        if path.is_file():
            return read_table(path, schema)
    raise FormatError(f"{folder} has no synthetic.csv or synthetic.parquet; it is not a whole release.")


def _write_measurements(measurements: tuple[Measurement, ...], folder: Path, notice: str) -> None:
    folder.mkdir()
    listed = [
        _Measured(attributes=list(m.clique), noise=m.noise, scale=m.scale, rho=Amount.of(m.rho), query=_query(m.query))
        for m in measurements
    ]
    index = _Index(notice=notice, measurements=listed).model_dump(
        mode="json", exclude={} if notice else {"notice"}, exclude_none=True
    )
    (folder / "measurements.json").write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    flat = np.concatenate([np.empty(0, "<i8"), *(m.values.reshape(-1) for m in measurements)]).astype("<i8")
    np.save(marked_path(folder / "values.npy", not notice), flat, allow_pickle=False)
    weights = [m.query.stored for m in measurements if m.query is not None and m.query.stored is not None]
    if weights:
        np.save(marked_path(folder / "queries.npy", not notice), np.concatenate(weights).astype("<i8"), allow_pickle=False)


def _query(query: LinearMap | None) -> _Query | None:
    if query is None:
        return None
    return _Query(kind=query.kind, answers=query.answers, weights=0 if query.stored is None else query.stored.size)


def _read_measurements(folder: Path, domain: Domain, private: bool) -> tuple[Measurement, ...]:
    path = folder / "measurements.json"
    index = _validated(_Index, _json(path), path)
    if private and index.notice:
        raise FormatError(f"{path} is of another release: one that is not private.")
    cliques = [_clique(domain, m.attributes, path) for m in index.measurements]
    queries = _read_queries(folder, index, [domain.shape(clique) for clique in cliques])
    shapes = [domain.shape(c) if q is None else (q.answers,) for c, q in zip(cliques, queries, strict=True)]
    sizes = [prod(shape) for shape in shapes]
    values = _values(marked_path(folder / "values.npy", not index.notice), sum(sizes))
    parts = [_part(values, end - n, end, shape) for n, end, shape in zip(sizes, accumulate(sizes), shapes, strict=True)]
    return tuple(
        Measurement(c, part, m.noise, m.scale, m.rho.fraction, private, query)
        for c, part, m, query in zip(cliques, parts, index.measurements, queries, strict=True)
    )


def _read_fine(folder: Path, schema: Schema, manifest: Manifest) -> tuple[Measurement, ...]:
    """Return the noisy counts of finer bins, and the sums over them: those that the manifest lists, in its order."""
    if not (manifest.inside or manifest.sums):
        return ()
    found = _read_measurements(folder, schema.fine, manifest.private)
    counted = [fine_name(e.column) if e.above is None else gap_name(e.above, e.column) for e in manifest.inside]
    asked = [0 if e.cells == schema.fine[name] else e.cells for e, name in zip(manifest.inside, counted, strict=True)]
    listed = [((name,), answers) for name, answers in zip(counted, asked, strict=True)]
    listed += [((fine_name(entry.column),), 1) for entry in manifest.sums]
    if [(m.clique, 0 if m.query is None else m.query.answers) for m in found] != listed:
        raise FormatError(f"{folder} is damaged: it does not hold the columns that release.json lists.")
    return found


def _read_queries(folder: Path, index: _Index, shapes: Sequence[tuple[int, ...]]) -> list[LinearMap | None]:
    """Return the linear query of each measurement, or None for a marginal as it is."""
    sizes = [0 if m.query is None else m.query.weights for m in index.measurements]
    path = marked_path(folder / "queries.npy", not index.notice)
    weights = _values(path, sum(sizes)) if any(sizes) else None
    found: list[LinearMap | None] = []
    for m, shape, size, end in zip(index.measurements, shapes, sizes, accumulate(sizes), strict=True):
        part = np.array(weights[end - size : end]) if weights is not None and size else None
        query = None if m.query is None else _restored(m.query, shape, part, path)
        found.append(query)
    return found


def _restored(stored: _Query, shape: tuple[int, ...], weights: Any, path: Path) -> LinearMap:
    try:
        query = stored_map(stored.kind, shape, weights)
    except (UserError, ValueError):
        query = None
    if query is None or query.answers != stored.answers:
        raise FormatError(f"{path} is damaged: its linear queries are not those that measurements.json lists.")
    return query


def _part(values: Any, start: int, end: int, shape: tuple[int, ...]) -> Any:
    part = np.array(values[start:end], dtype=np.int64).reshape(shape)
    part.setflags(write=False)
    return part


def _values(path: Path, length: int) -> Any:
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # whatever NumPy raises on a header that it did not write; the tokenizer's errors are among it
        raise FormatError(f"{path} is missing or damaged; it is not a whole release.") from None
    if not isinstance(values, np.ndarray) or values.dtype != np.dtype("<i8") or values.shape != (length,):
        raise FormatError(f"{path} is damaged: it does not hold the {length:,} numbers that measurements.json lists.")
    return values


def _clique(domain: Domain, attributes: list[str], path: Path) -> Clique:
    try:
        clique = domain.clique(attributes)
    except SchemaError as problem:
        raise FormatError(f"{path} is damaged: {problem}") from None
    if list(clique) != attributes:
        raise FormatError(f"{path} is damaged: a measurement is not in the order of the schema.")
    return clique


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise FormatError(f"{path} is too large to be part of a release.")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(f"There is no {path}; a release is a folder with release.json in it.") from None
    except OSError as problem:
        raise FormatError(f"{path} cannot be read ({problem.strerror}).") from None
    except (ValueError, RecursionError):
        raise FormatError(f"{path} is not valid JSON; it is damaged or foreign.") from None


def _validated(kind: type[T], document: Any, path: Path) -> T:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FormatError(f"{path} is damaged: {where}: {first['msg']}.") from None

"""A model on disk: ``model.json`` and the arrays that it names, in NumPy's open ``.npy`` format. Public numbers only.

Loading runs no code and trusts nothing: sizes are compared with what is declared before anything is allocated, contents
with their checksums, and whatever does not fit is a ``FormatError``.

Version 1 is a graphical model. ``model.json`` has the domain, the mass, the cliques of the potentials in order, the cliques
of the structural zeros with the number of combinations each, and for each array its length and SHA-256; ``checksum`` is the
SHA-256 of the other entries as compact JSON with sorted keys. ``parameters-*.npy`` holds the potentials of all cliques one
after another (float64, each in C order), ``zeros-*.npy`` the forbidden combinations one after another (int64); the stars are
the first 16 digits of the array's SHA-256. A model that is not private has a ``notice``, and its arrays are
``*.NOT-PRIVATE.npy``.

Version 2 is a mixture of products: ``components`` says how many it has, ``cliques`` is empty, and ``parameters-*.npy``
holds the weights, then the probabilities of each attribute (components × codes).

Version 3 is a model of regions: ``cliques`` are the regions, and ``parameters-*.npy`` holds their tables, as in version 1.

Writing replaces ``model.json`` last, so a folder always holds a whole model.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import FormatError, InternalError, SchemaError, UserError
from understudy.model.graphical import GraphicalModel
from understudy.model.mixture import Mixture
from understudy.model.model import Model
from understudy.model.regions import RegionModel

FORMAT, GRAPHICAL, MIXTURE, REGIONS = "understudy-model", 1, 2, 3
LARGEST_JSON = 1 << 26
"""Bytes of ``model.json`` that are read at most."""
MOST_COMPONENTS = 1 << 20
"""Components of a mixture, at most."""
ROUNDING = 1e-6
"""Probabilities add up to 1 within this."""
LARGEST_SIZE = 2**31 - 1
"""Codes are 32-bit integers."""
HEADER = 1 << 12
"""Bytes that an array's file may have beyond its numbers."""


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Array(_Entry):
    length: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class _ZerosEntry(_Entry):
    clique: list[str]
    combinations: int = Field(ge=0)


class _Domain(_Entry):
    attributes: list[str]
    sizes: list[int]


class _Description(_Entry):
    """What ``model.json`` says, without its checksum."""

    format: str
    version: int
    domain: _Domain
    total: float = Field(ge=0, allow_inf_nan=False)
    cliques: list[list[str]]
    zeros: list[_ZerosEntry]
    parameters: _Array
    forbidden: _Array
    components: int = Field(default=0, ge=0, le=MOST_COMPONENTS)
    """Of a mixture."""
    notice: str = ""
    """What must be said of the model wherever it goes: that it is not private. Then the names of its arrays say so too."""


def save_model(model: Model, folder: str | os.PathLike[str], *, notice: str = "") -> None:
    """Write ``model`` into ``folder`` (made when missing); a model already there is replaced in one step.

    ``notice`` says that the model is not private, where it is not.
    """
    parameters = _flat(_parts(model), np.dtype("<f8"))
    if not (np.all(np.isfinite(parameters)) and isfinite(model.total)):
        raise InternalError("A model with a potential or a mass that is not finite cannot be saved.")
    contents = {"parameters": _npy(parameters)}
    contents["zeros"] = _npy(_flat((zero.cells for zero in model.zeros), np.dtype("<i8")))
    description = _describe(model, contents, notice)
    document = {**description, "checksum": _checksum(description)}
    try:
        _write(Path(folder), contents, json.dumps(document, indent=1).encode(), notice)
    except OSError as problem:
        raise UserError(f"The model cannot be saved in {folder}: {problem.strerror}.") from None


def load_model(folder: str | os.PathLike[str]) -> Model:
    """Read a model back; a missing, damaged, foreign or too new one is a ``FormatError``."""
    found = _description(Path(folder))
    try:
        domain = Domain(tuple(found.domain.attributes), tuple(found.domain.sizes))
    except SchemaError as problem:
        raise _damaged(str(problem)) from None
    if any(size > LARGEST_SIZE for size in domain.sizes):
        raise _damaged("an attribute has more codes than a model can have")
    if found.version == MIXTURE:
        return _mixture(Path(folder), domain, found)
    cliques = [_clique(domain, names) for names in found.cliques]
    if len(set(cliques)) != len(cliques):
        raise _damaged("a clique appears twice")
    lengths = [domain.cells(clique) for clique in cliques]
    numbers = _array(Path(folder), "parameters", found, sum(lengths), np.dtype("<f8"))
    if not np.all(np.isfinite(numbers)):
        raise _damaged("a potential is not finite")
    parts = zip(cliques, _cut(numbers, lengths), strict=True)
    tables, zeros = {c: part.reshape(domain.shape(c)) for c, part in parts}, _zeros(Path(folder), domain, found)
    if found.version == REGIONS:
        return _regions(domain, tables, found.total, zeros)
    return GraphicalModel(domain, tables, found.total, zeros)


def _parts(model: Model) -> list[NDArray[np.float64]]:
    """Return the numbers that a model is made of, in the order in which they are saved."""
    if isinstance(model, Mixture):
        return [model.weights, *model.tables]
    return list(_by_clique(model).values())


def _by_clique(model: Model) -> Mapping[Clique, NDArray[np.float64]]:
    """Return the tables of a model that has some for cliques: potentials, or regions."""
    if isinstance(model, RegionModel):
        return model.tables
    return model.parameters if isinstance(model, GraphicalModel) else {}


def _version(model: Model) -> int:
    return MIXTURE if isinstance(model, Mixture) else REGIONS if isinstance(model, RegionModel) else GRAPHICAL


def _regions(
    domain: Domain, tables: dict[Clique, NDArray[np.float64]], total: float, zeros: tuple[Zeros, ...]
) -> RegionModel:
    """Return a model of regions; tables that are no marginals of one mass are damage."""
    room = ROUNDING * max(total, 1.0)
    if not tables or any(np.any(table < 0) or abs(float(table.sum()) - total) > room for table in tables.values()):
        raise _damaged("its regions are not marginals of the same mass")
    return RegionModel(domain, tables, total, zeros)


def _mixture(folder: Path, domain: Domain, found: _Description) -> Mixture:
    """Read a mixture; weights or probabilities that are none are damage."""
    if not found.components or found.cliques:
        raise _damaged("it does not describe a mixture")
    lengths = [found.components, *(found.components * size for size in domain.sizes)]
    numbers = _array(folder, "parameters", found, sum(lengths), np.dtype("<f8"))
    weights, *flat = _cut(numbers, lengths)
    tables = tuple(part.reshape(found.components, -1) for part in flat)
    sums = np.concatenate([weights.sum(keepdims=True), *(table.sum(axis=1) for table in tables)])
    if not np.all(numbers >= 0) or not np.all(np.abs(sums - 1) <= ROUNDING):
        raise _damaged("its probabilities do not add up to 1")
    return Mixture(domain, tables, weights, found.total, _zeros(folder, domain, found))


def _flat(tables: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    parts = [np.ravel(np.asarray(table)).astype(dtype) for table in tables]
    return np.concatenate([np.empty(0, dtype=dtype), *parts])


def _npy(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _describe(model: Model, contents: Mapping[str, bytes], notice: str) -> dict[str, Any]:
    cells = {"parameters": sum(map(np.size, _parts(model)))}
    cells["zeros"] = sum(np.size(zero.cells) for zero in model.zeros)
    arrays = {
        name: _Array(length=cells[name], sha256=hashlib.sha256(content).hexdigest()) for name, content in contents.items()
    }
    return _Description(
        format=FORMAT,
        version=_version(model),
        domain=_Domain(attributes=list(model.domain.attributes), sizes=list(model.domain.sizes)),
        total=float(model.total),
        cliques=[list(clique) for clique in _by_clique(model)],
        zeros=[_ZerosEntry(clique=list(zero.clique), combinations=_combinations(zero)) for zero in model.zeros],
        parameters=arrays["parameters"],
        forbidden=arrays["zeros"],
        components=model.weights.size if isinstance(model, Mixture) else 0,
        notice=notice,
    ).model_dump(exclude_defaults=True)


def _file(name: str, digest: str, notice: str) -> str:
    return f"{name}-{digest[:16]}{'.NOT-PRIVATE' if notice else ''}.npy"


def _combinations(zero: Any) -> int:
    return int(np.size(zero.cells)) // max(1, len(zero.clique))


def _checksum(description: Mapping[str, Any]) -> str:
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _write(folder: Path, contents: Mapping[str, bytes], document: bytes, notice: str) -> None:
    """Write the arrays under names of their own first, then swap ``model.json``, then drop what it no longer names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {_file(name, hashlib.sha256(content).hexdigest(), notice): content for name, content in contents.items()}
    for name, content in names.items():
        _replace(folder / name, content)
    _replace(folder / "model.json", document)
    for name in contents:
        for old in folder.glob(f"{name}-" + "[0-9a-f]" * 16 + "*.npy"):
            if old.name not in names:
                old.unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with beside.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _description(folder: Path) -> _Description:
    document = _document(_read(folder / "model.json", 0, LARGEST_JSON))
    if document.get("format") != FORMAT:
        raise FormatError(f'{folder / "model.json"} is not a saved model: its "format" is not "{FORMAT}".')
    version = document.get("version")
    if isinstance(version, int) and version > REGIONS:
        raise FormatError(f"The model was saved in format {version}; this release reads up to {REGIONS}: upgrade it.")
    if version not in (GRAPHICAL, MIXTURE, REGIONS) or isinstance(version, bool):
        raise _damaged("its version is not a known one")
    checksum = document.pop("checksum", None)
    try:
        if checksum != _checksum(document):
            raise _damaged("model.json does not match its checksum")
        return _Description.model_validate(document)
    except (ValidationError, ValueError, RecursionError) as problem:
        what = problem.errors()[0]["loc"] if isinstance(problem, ValidationError) else ()
        raise _damaged(f"model.json has a wrong entry {'.'.join(map(str, what))}".rstrip()) from None


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise _damaged("model.json is not JSON") from None
    if not isinstance(document, dict):
        raise _damaged("model.json is not a JSON object")
    return document


def _read(path: Path, smallest: int, largest: int) -> bytes:
    """Return the file's bytes, refusing a size outside the limits before reading."""
    try:
        size = path.stat().st_size
        if not smallest <= size <= largest:
            raise _damaged(f"{path.name} has {size} bytes, which does not fit what it should hold")
        with path.open("rb") as stream:
            return stream.read(largest)
    except FileNotFoundError:
        raise FormatError(f"There is no {path.name} in {path.parent}: not a saved model, or not all of it.") from None
    except OSError as problem:
        raise FormatError(f"{path} cannot be read: {problem.strerror}.") from None


def _array(folder: Path, name: str, found: _Description, length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the numbers of an array's file, once its size, checksum and header are what they should be."""
    declared = found.parameters if name == "parameters" else found.forbidden
    if declared.length != length:
        raise _damaged(f"its {name} have {declared.length} numbers where the cliques need {length}")
    file = _file(name, declared.sha256, found.notice)
    content = _read(folder / file, length * dtype.itemsize, length * dtype.itemsize + HEADER)
    if hashlib.sha256(content).hexdigest() != declared.sha256:
        raise _damaged(f"{file} does not match its checksum")
    start = _header(content, file, length, dtype)
    return np.frombuffer(content, dtype=dtype, count=length, offset=start).astype(dtype.newbyteorder("="))


def _header(content: bytes, file: str, length: int, dtype: np.dtype[Any]) -> int:
    """Return where the numbers begin, if the header declares exactly what is expected."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0(stream) if version == (1, 0) else None
    except Exception:  # whatever NumPy raises on a header that it did not write
        header = None
    if header != ((length,), False, dtype) or len(content) - stream.tell() != length * dtype.itemsize:
        raise _damaged(f"{file} is not the array that model.json declares")
    return stream.tell()


def _clique(domain: Domain, names: Sequence[str]) -> Clique:
    try:
        clique = domain.clique(names)
    except SchemaError:
        raise _damaged("a clique has an attribute that the domain has not") from None
    if clique != tuple(names):
        raise _damaged("a clique is not in the order of the domain")
    return clique


def _zeros(folder: Path, domain: Domain, found: _Description) -> tuple[Zeros, ...]:
    cliques = [_clique(domain, zero.clique) for zero in found.zeros]
    if not all(cliques):
        raise _damaged("a structural zero names no attribute")
    lengths = [zero.combinations * len(c) for zero, c in zip(found.zeros, cliques, strict=True)]
    codes = _array(folder, "zeros", found, sum(lengths), np.dtype("<i8"))
    zeros = []
    for clique, part in zip(cliques, _cut(codes, lengths), strict=True):
        cells = part.reshape(-1, len(clique))
        if np.any(cells < 0) or np.any(cells >= np.array(domain.shape(clique))):
            raise _damaged("a structural zero has a code outside the domain")
        zeros.append(Zeros(clique, cells))
    return tuple(zeros)


def _cut(flat: NDArray[Any], lengths: Sequence[int]) -> list[NDArray[Any]]:
    ends = np.cumsum([0, *lengths])
    return [flat[a:b] for a, b in pairwise(ends)]


def _damaged(what: str) -> FormatError:
    return FormatError(f"The saved model is damaged: {what.rstrip('.')}. Restore it, or make it again.")

"""Every reader of outside files, fed damaged and hostile ones: it reads them or says what is wrong, and runs nothing.

Bytes are changed, cut, doubled and swapped; values in JSON and TOML are replaced by others of every kind; and where a file
carries a checksum, it is made to fit, so that the damage gets past it. The readers run under Python's own audit hook, which
sees every attempt to import a pickled name, to start a program or to run code. Seeded, so that a failure can be repeated.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from contracts.tape import Tape, frozen_entropy
from release_tables import SCHEMA, quick, table
from understudy.domain import Domain
from understudy.errors import UserError
from understudy.ledger import Ledger
from understudy.model import load_model
from understudy.model.storage import _checksum
from understudy.privacy import Budget
from understudy.schema import load_schema
from understudy.workload import Workload

pytestmark = pytest.mark.promise(25)
Rng = np.random.Generator

TURNS = pytest.mark.parametrize("turns", [40, pytest.param(1500, marks=pytest.mark.audit)])

FORBIDDEN = (
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "exec",
    "ctypes.dlopen",
)
_watching = False
_seen: list[str] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in FORBIDDEN:
        _seen.append(event)


sys.addaudithook(_hook)


def attempt(read: Callable[[], Any]) -> str:
    """Read under watch; return how it ended. Anything but an answer or a clear refusal fails the test."""
    global _watching  # noqa: PLW0603
    _seen.clear()
    _watching = True
    try:
        read()
    except UserError as error:
        said = str(error)
    else:
        said = ""
    finally:
        _watching = False
    assert _seen == [], f"reading a file led to {_seen}"
    assert not said or len(said) > 10, "a refusal says what is wrong"
    return "refused" if said else "read"


# How files are damaged.

PIECES = [
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"'''",
    b"{",
    b"]",
    b"\n",
    b"=",
    b"[[",
    b"1e999",
    b"-1",
    b"nan",
    b"null",
    b"\xe2\x80\xae",
    b"9" * 400,
]
VALUES: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**400, 1.5, -0.0, 1e308, "", "x", "\x00", "../../etc", "0" * 5000, [], {}, [[]],
    [None], {"a": 1}, ["a"] * 3, "nan", "Infinity", "1/0", "__class__", {"__reduce__": ["os.system", "true"]},
]  # fmt: skip


def damaged(content: bytes, rng: Rng) -> bytes:
    """Return the bytes with one to four damages."""
    found = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place, other = (int(rng.integers(0, len(found) + 1)) for _ in range(2))
        match int(rng.integers(0, 6)):
            case 0 if found:
                found[place % len(found)] = int(rng.integers(0, 256))
            case 1:
                found[place:place] = PIECES[rng.integers(len(PIECES))]
            case 2:
                del found[min(place, other) : max(place, other)]
            case 3:
                found[place:place] = found[min(place, other) : max(place, other)][:2000]
            case 4:
                del found[place:]
            case _:
                found[place : place + 8] = rng.bytes(8)
    return bytes(found)


def mangled(document: Any, rng: Rng) -> Any:
    """Return the document with one value somewhere replaced, removed or renamed."""
    if rng.random() < 0.15 or not isinstance(document, dict | list) or not document:
        return VALUES[rng.integers(len(VALUES))]
    if isinstance(document, list):
        at = int(rng.integers(len(document)))
        if rng.random() < 0.1:
            return [*document, *document[: at + 1]]
        return [*document[:at], mangled(document[at], rng), *document[at + 1 :]]
    key = list(document)[rng.integers(len(document))]
    kept = {k: v for k, v in document.items() if k != key}
    chance = rng.random()
    if chance < 0.1:
        return kept
    return kept | {f"{key}x": document[key]} if chance < 0.15 else kept | {key: mangled(document[key], rng)}


def both(content: bytes, rng: Rng) -> bytes:
    """Damage bytes, or a value in what they say."""
    if rng.random() < 0.5:
        return damaged(content, rng)
    return json.dumps(mangled(json.loads(content), rng)).encode()


# The readers.


@TURNS
def test_schema_files(turns: int, tmp_path: Path) -> None:
    rng, path, endings = np.random.default_rng(1), tmp_path / "schema.toml", []
    load_schema(_written(path, SCHEMA))  # the first file that is read imports its readers, which the watch would see
    for _ in range(3 * turns):  # most damage is refused
        path.write_bytes(damaged(SCHEMA.encode(), rng))
        endings.append(attempt(lambda: load_schema(path)))
    assert {"read", "refused"} <= set(endings)


@TURNS
def test_schema_and_domain_files_in_json(turns: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(2), tmp_path / "domain.json"
    declaration = understudy.load_schema(_written(tmp_path / "s.toml", SCHEMA)).declaration.model_dump(
        mode="json", exclude_defaults=True
    )
    documents = [json.dumps(declaration).encode(), b'{"age": 32, "sex": 2, "town": 11}']
    endings = []
    for turn in range(turns):
        path.write_bytes(both(documents[turn % 2], rng))
        endings.append(attempt(lambda: load_schema(path)))
    assert {"read", "refused"} <= set(endings)


@TURNS
def test_workload_files(turns: int, tmp_path: Path) -> None:
    rng, domain = np.random.default_rng(3), Domain.of({"age": 10, "sex": 2})
    texts = {
        ".toml": b'[[query]]\nattributes = ["age", "sex"]\nweight = 2.0\n[[query]]\nattributes = ["sex"]\n',
        ".json": b'[{"attributes": ["age", "sex"], "weight": 2.0}, {"attributes": ["sex"]}]',
    }
    endings = []
    for turn in range(turns):
        ending = (".toml", ".json")[turn % 2]
        path = tmp_path / f"w{ending}"
        path.write_bytes(damaged(texts[ending], rng) if ending == ".toml" else both(texts[ending], rng))
        endings.append(attempt(lambda path=path: Workload.load(path, domain)))  # type: ignore[misc]
    assert {"read", "refused"} <= set(endings)


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@cache
def whole_release(folder: Path) -> Path:
    quick(table(60), workload="all-2way", mechanism="aim", rounds=12, max_size="1MB").save(folder / "csv")
    quick(table(60)).save(folder / "parquet", format="parquet")
    return folder


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        frozen_entropy(patch)
        made = whole_release(tmp_path_factory.mktemp("whole"))
    for kind in ("csv", "parquet"):  # everything is imported before reading is watched
        understudy.load(made / kind)
    return made


@TURNS
def test_release_folders(turns: int, releases: Path, tmp_path: Path) -> None:
    """Any file of the folder is damaged; whatever loads can be sampled, queried and shown."""
    rng, endings = np.random.default_rng(4), []
    for turn in range(turns // 2):
        copy = tmp_path / f"copy{turn}"
        shutil.copytree(releases / ("csv", "parquet")[turn % 2], copy)
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        path = files[rng.integers(len(files))]
        content = path.read_bytes()
        path.write_bytes(both(content, rng) if path.suffix == ".json" else damaged(content, rng))
        endings.append(attempt(lambda copy=copy: used(copy)))  # type: ignore[misc]
        shutil.rmtree(copy)
    assert {"read", "refused"} <= set(endings)


def used(folder: Path) -> None:
    release = understudy.load(folder)
    str(release)
    release.marginal("sex")


@TURNS
def test_model_folders_with_checksums_that_fit(turns: int, releases: Path, tmp_path: Path) -> None:
    """Whoever forges a model can also compute its checksum."""
    rng, endings = np.random.default_rng(5), []
    document = json.loads((releases / "csv" / "model" / "model.json").read_text())
    document.pop("checksum")
    shutil.copytree(releases / "csv" / "model", tmp_path / "model")
    for _ in range(turns):
        forged = mangled(document, rng)
        if isinstance(forged, dict):
            try:
                forged = {**forged, "checksum": _checksum(forged)}
            except ValueError:
                continue
        (tmp_path / "model" / "model.json").write_text(json.dumps(forged))
        endings.append(attempt(lambda: load_model(tmp_path / "model").marginal(("sex",))))
    assert "refused" in endings


@TURNS
def test_ledgers(turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger is a database, and a run is resumed from it: damaged, it is read as it is or refused."""
    whole = tmp_path / "whole.ledger"
    with monkeypatch.context() as patch:  # what is damaged repeats too, down to noise, names and times
        Tape(seed=6).install(patch)
        frozen_entropy(patch)
        book = Ledger.create(whole)
        book.declare("visits", Budget.of(rho=100))
        quick(table(40), seed=None, ledger=book, dataset="visits")
    used_ledger(whole)
    content, rng, endings = whole.read_bytes(), np.random.default_rng(6), []
    path = tmp_path / "damaged.ledger"
    for _ in range(turns):
        for beside in tmp_path.glob("damaged.ledger*"):
            beside.unlink()
        path.write_bytes(damaged(content, rng) if rng.random() < 0.7 else _nudged(content, rng))
        endings.append(attempt(lambda: used_ledger(path)))
    assert "refused" in endings


def _nudged(content: bytes, rng: Rng) -> bytes:
    """Change a few bytes and no length: most of the database stays readable."""
    found = bytearray(content)
    for place in rng.integers(0, len(found), 3):
        found[place] = int(rng.integers(0, 256))
    return bytes(found)


def used_ledger(path: Path) -> None:
    book = Ledger(path)
    book.verify()
    book.state()


def test_the_watch_has_teeth() -> None:
    import pickle

    with pytest.raises(AssertionError, match=r"pickle\.find_class"):
        attempt(lambda: pickle.loads(pickle.dumps(len)))
    with pytest.raises(AssertionError, match="exec"):
        attempt(lambda: exec("1"))
    with pytest.raises(KeyError):
        attempt(lambda: {}["x"])

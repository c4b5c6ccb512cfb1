"""A saved model comes back the same, or does not come back: no damage gets through, and none crashes."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy.domain import Domain, Zeros
from understudy.errors import FormatError, UserError
from understudy.model import GraphicalModel, load_model, save_model

from .small import models, subsets


def example() -> GraphicalModel:
    domain = Domain.of({"age": 4, "sex": 2, "café": 3, "alone": 1})
    rng = np.random.default_rng(0)
    parameters = {("age", "sex"): rng.normal(size=(4, 2)), ("sex", "café"): 1e3 * rng.normal(size=(2, 3))}
    zeros = (Zeros(("age", "café"), np.array([[0, 1], [3, 2]])), Zeros(("sex",), np.empty((0, 1), np.int64)))
    return GraphicalModel(domain, parameters, 1234.5678901234567, zeros)


@cache
def saved_example() -> dict[str, bytes]:
    """Return the files of the example, by name."""
    with TemporaryDirectory() as folder:
        save_model(example(), folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def assert_same(a: GraphicalModel, b: GraphicalModel) -> None:
    assert a.domain == b.domain
    assert a.total == b.total
    assert list(a.parameters) == list(b.parameters)
    assert all(np.array_equal(a.parameters[c], b.parameters[c]) for c in a.parameters)
    assert [z.clique for z in a.zeros] == [z.clique for z in b.zeros]
    assert all(np.array_equal(x.cells, y.cells) for x, y in zip(a.zeros, b.zeros, strict=True))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(model=models())
def test_round_trip(model: GraphicalModel, tmp_path: Path) -> None:
    save_model(model, tmp_path)
    back = load_model(tmp_path)
    assert_same(model, back)
    for got, want in zip(*(m.marginals(subsets(model.domain, 2)) for m in (back, model)), strict=True):
        assert np.array_equal(got, want)


def test_saving_again_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    first = example()
    save_model(first, tmp_path / "deep" / "folder")
    second = GraphicalModel(first.domain, {("age",): np.arange(4.0)}, 7.0)
    save_model(second, tmp_path / "deep" / "folder")
    assert_same(load_model(tmp_path / "deep" / "folder"), second)
    assert len(list((tmp_path / "deep" / "folder").iterdir())) == 3


def test_a_crash_before_the_last_step_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(example(), tmp_path)
    from understudy.model import storage

    written = storage._replace

    def dies(path: Path, content: bytes) -> None:
        if path.name == "model.json":
            raise KeyboardInterrupt
        written(path, content)

    monkeypatch.setattr(storage, "_replace", dies)
    with pytest.raises(KeyboardInterrupt):
        save_model(GraphicalModel(Domain.of({"a": 2}), {("a",): np.ones(2)}, 7.0), tmp_path)
    assert_same(load_model(tmp_path), example())


def test_the_arrays_are_plain_and_hold_no_pickle(tmp_path: Path) -> None:
    save_model(example(), tmp_path)
    (parameters,) = tmp_path.glob("parameters-*.npy")
    flat = np.load(parameters, allow_pickle=False)
    assert np.array_equal(flat, np.concatenate([t.ravel() for t in example().parameters.values()]))


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_an_error_or_changes_nothing(data: st.DataObject, tmp_path: Path) -> None:
    whole = saved_example()
    for name, content in whole.items():
        (tmp_path / name).write_bytes(content)
    path = tmp_path / data.draw(st.sampled_from(sorted(whole)))
    content = bytearray(whole[path.name])
    kind = data.draw(st.sampled_from(["flip", "cut", "append", "splice", "swap"]))
    at = data.draw(st.integers(0, len(content) - 1))
    if kind == "flip":
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "cut":
        del content[at:]
    elif kind == "append":
        content += data.draw(st.binary(min_size=1, max_size=20))
    elif kind == "splice":
        content[at : at + 5] = data.draw(st.binary(max_size=10))
    else:
        content[:] = whole[data.draw(st.sampled_from(sorted(whole)))]
    path.write_bytes(content)
    with contextlib.suppress(FormatError):
        assert_same(load_model(tmp_path), example())


def forge(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change ``model.json`` with a checksum to match, as damage by hand (or malice) would."""
    document = json.loads((folder / "model.json").read_text())
    del document["checksum"]
    change(document)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    document["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(document))


def array_with(folder: Path, name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Put another array in the folder; return how ``model.json`` would declare it."""
    path = folder / "new.npy"
    np.save(path, array)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.rename(folder / f"{name}-{digest[:16]}.npy")
    return {"length": int(array.size), "sha256": digest}


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "an entry more": lambda d: d.update(more=1),
    "an entry less": lambda d: d.pop("total"),
    "negative mass": lambda d: d.update(total=-1.0),
    "text for mass": lambda d: d.update(total="1"),
    "no size": lambda d: d["domain"].update(sizes=[4, 2, 3]),
    "size 0": lambda d: d["domain"].update(sizes=[4, 2, 3, 0]),
    "a fraction of a size": lambda d: d["domain"].update(sizes=[4, 2, 3, 1.5]),
    "a size beyond codes": lambda d: d["domain"].update(sizes=[4, 2, 3, 2**31]),
    "sizes beyond memory": lambda d: d["domain"].update(sizes=[10**9, 10**9, 3, 1]),
    "a name twice": lambda d: d["domain"].update(attributes=["age", "sex", "sex", "alone"]),
    "another size": lambda d: d["domain"].update(sizes=[5, 2, 3, 1]),
    "fewer codes than zeros name": lambda d: d["domain"].update(sizes=[8, 1, 2, 1]),
    "an unknown attribute": lambda d: d["cliques"].append(["agee"]),
    "a clique out of order": lambda d: d.update(cliques=[["sex", "age"], ["sex", "café"]]),
    "a clique twice": lambda d: d.update(cliques=[["age", "sex"], ["age", "sex"]]),
    "a longer array": lambda d: d["parameters"].update(length=15),
    "a path for a checksum": lambda d: d["parameters"].update(sha256="../../../../etc/passwd"),
    "zeros of nothing": lambda d: d.update(zeros=[{"clique": [], "combinations": 0}]),
    "too many zeros": lambda d: d["zeros"][0].update(combinations=10**15),
    "negative zeros": lambda d: d["zeros"][0].update(combinations=-2),
    "text for cliques": lambda d: d.update(cliques="age"),
    "true for a version": lambda d: d.update(version=True),
    "version 0": lambda d: d.update(version=0),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_description_is_refused(what: str, tmp_path: Path) -> None:
    save_model(example(), tmp_path)
    forge(tmp_path, lambda d: None)
    load_model(tmp_path)
    forge(tmp_path, FORGERIES[what])
    with pytest.raises(FormatError):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "array",
    [
        np.full(14, np.nan),
        np.full(14, -np.inf),
        np.zeros(14, dtype=np.float32),
        np.zeros(14, dtype=">f8"),
        np.zeros((2, 7)),
        np.zeros(13),
        np.array([None] * 14, dtype=object),
    ],
    ids=["nan", "inf", "float32", "big-endian", "shaped", "short", "objects"],
)
def test_forged_potentials_are_refused(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    save_model(example(), tmp_path)
    declared = array_with(tmp_path, "parameters", array)
    forge(tmp_path, lambda d: d.update(parameters=declared))
    with pytest.raises(FormatError):
        load_model(tmp_path)


def test_a_header_that_declares_terabytes_allocates_nothing(tmp_path: Path) -> None:
    save_model(example(), tmp_path)
    (path,) = tmp_path.glob("parameters-*.npy")
    content = path.read_bytes().replace(b"(14,)", b"(" + str(10**12).encode() + b",)")
    digest = hashlib.sha256(content).hexdigest()
    (tmp_path / f"parameters-{digest[:16]}.npy").write_bytes(content)
    forge(tmp_path, lambda d: d["parameters"].update(sha256=digest))
    with pytest.raises(FormatError, match="not the array"):
        load_model(tmp_path)


def test_codes_outside_the_domain_are_refused(tmp_path: Path) -> None:
    save_model(example(), tmp_path)
    declared = array_with(tmp_path, "zeros", np.array([0, 1, 4, 2]))
    forge(tmp_path, lambda d: d.update(forbidden=declared))
    with pytest.raises(FormatError, match="outside the domain"):
        load_model(tmp_path)


def test_a_later_version_says_what_to_do(tmp_path: Path) -> None:
    save_model(example(), tmp_path)
    forge(tmp_path, lambda d: d.update(version=4))
    with pytest.raises(FormatError, match="upgrade"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"format": "other"}', "[" * 100_000, "\x80", '{"a": 1' + "0" * 5000 + "}"]
)
def test_foreign_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(FormatError):
        load_model(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no model\.json"):
        load_model(tmp_path / "nowhere")
    save_model(example(), tmp_path)
    next(tmp_path.glob("parameters-*")).unlink()
    with pytest.raises(FormatError, match="not all of it"):
        load_model(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be saved"):
        save_model(example(), tmp_path / "file")

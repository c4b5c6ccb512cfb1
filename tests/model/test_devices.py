"""Which engine a device means; what happens where a GPU's memory is too small. PyTorch's processor stands in for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import understudy
from understudy.domain import Domain, Zeros
from understudy.errors import UserError
from understudy.example import people, schema
from understudy.model import NUMPY, GraphicalModel, Observation, engine_on, fit, make_engine
from understudy.model.engine import registry

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed (make test-torch installs it)")
DOMAIN = Domain.of({"a": 3, "b": 4, "c": 2})
PAIRS = [("a", "b"), ("b", "c")]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    registry._best.cache_clear()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_has_gpu", lambda: True)


def observed() -> list[Observation]:
    rng = np.random.default_rng(0)
    return [Observation(pair, rng.uniform(0, 100, DOMAIN.shape(pair)), 3.0) for pair in PAIRS]


def test_the_processor_is_numpy() -> None:
    assert engine_on("cpu")(1 << 40) is NUMPY


def test_a_device_that_there_is_not_is_refused() -> None:
    with pytest.raises(UserError, match='one of auto, cpu, cuda, not "cudo"'):
        engine_on("cudo")


@needs_torch
def test_auto_takes_a_gpu_for_large_models_alone(gpu: None) -> None:
    choose = engine_on("auto")
    assert choose(registry.LARGE - 1) is NUMPY
    assert choose(registry.LARGE).name == "torch"
    assert choose(registry.LARGE) is choose(2 * registry.LARGE)


def test_auto_without_a_gpu_is_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_has_gpu", lambda: False)
    assert engine_on("auto")(1 << 40) is NUMPY


def test_without_pytorch_auto_is_the_processor_and_cuda_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "understudy.model.engine.on_torch", None)
    assert engine_on("auto")(1 << 40) is NUMPY
    with pytest.raises(UserError, match=r"not installed: pip install 'understudy\[gpu\]'"):
        engine_on("cuda")


@needs_torch
def test_a_run_without_a_gpu_is_refused_before_it_reads_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_has_gpu", lambda: False)
    with pytest.raises(UserError, match="finds no GPU"):
        understudy.synthesize("nowhere.csv", schema(), epsilon=1, device="cuda")


@needs_torch
def test_a_run_fits_and_draws_on_the_device(gpu: None) -> None:
    settings: dict[str, Any] = {
        "epsilon": 1,
        "workload": "all-2way",
        "mechanism": "independent",
        "seed": 1,
        "progress": False,
    }
    release = understudy.synthesize(people(200), schema(), device="cuda", **settings)
    assert release.model.engine.name == "torch"
    assert understudy.synthesize(people(200), schema(), device="cpu", **settings).model.engine is NUMPY


# Memory that is too small.


def out_of_memory(*_: Any, **__: Any) -> Any:
    import torch

    raise torch.OutOfMemoryError("CUDA out of memory.")


@needs_torch
def test_a_fit_goes_on_where_memory_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the fifth evaluation: nothing is lost of the first four."""
    from understudy.model.engine.on_torch.objective import Objective

    evaluate, calls = Objective.evaluate, []

    def limited(self: Any, parameters: Any) -> Any:
        calls.append(1)
        return evaluate(self, parameters) if len(calls) < 5 else out_of_memory()

    monkeypatch.setattr(Objective, "evaluate", limited)
    with pytest.warns(UserWarning, match="does not fit in the memory of the GPU"):
        found = fit(DOMAIN, observed(), engine=make_engine("torch"))
    assert len(calls) == 5
    want = fit(DOMAIN, observed())
    assert found.reason == want.reason == "converged"
    for pair in PAIRS:
        np.testing.assert_allclose(found.model.marginal(pair), want.model.marginal(pair), atol=1e-6 * want.model.total)


class Unfinished:
    """A graph whose recording broke off: to end it is an error of its own."""

    def capture_begin(self) -> None: ...

    def capture_end(self) -> None:
        raise RuntimeError("CUDA error: capturing stream has unjoined work")


@needs_torch
def test_a_recording_in_which_memory_ran_out_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found on a GPU that others used as well: the error of the recording hid that memory was too small."""
    import torch

    from understudy.model.engine.on_torch.recording import Recording

    made = {"CUDAGraph": Unfinished, "Stream": MagicMock(), "current_stream": MagicMock(), "stream": MagicMock()}
    made["stream"].return_value.__exit__.return_value = None
    for name, instead in made.items():
        monkeypatch.setattr(torch.cuda, name, instead)
    recording = Recording[int](torch.device("cuda"))
    assert recording(lambda _: 3) == 3
    with pytest.raises(torch.OutOfMemoryError):
        recording(out_of_memory)


@needs_torch
def test_lanes_are_joined_where_memory_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from understudy.model.engine.on_torch import lanes

    streams = [MagicMock(name=f"stream {k}") for k in range(1 + lanes.LANES)]
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: streams[0])
    monkeypatch.setattr(torch.cuda, "Stream", MagicMock(side_effect=streams[1:]))
    with pytest.raises(torch.OutOfMemoryError), lanes.Lanes(torch.device("cuda")).apart():
        out_of_memory()
    assert [call.args[0] for call in streams[0].wait_stream.call_args_list] == streams[1:]


@needs_torch
@pytest.mark.parametrize("where", ["inference.infer", "answers.Answers.marginals"])
def test_a_model_answers_where_memory_ran_out(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    parts = {"inference.infer": "sparing.infer"}
    monkeypatch.setattr(f"understudy.model.engine.on_torch.{parts.get(where, where)}", out_of_memory)
    zeros = (Zeros(("a", "b"), np.array([[0, 1]])),)
    parameters = {pair: np.random.default_rng(1).normal(size=DOMAIN.shape(pair)) for pair in PAIRS}
    want, model = (GraphicalModel(DOMAIN, parameters, 50.0, zeros, engine=e) for e in (NUMPY, make_engine("torch")))
    with pytest.warns(UserWarning, match="does not fit in the memory of the GPU"):
        np.testing.assert_allclose(model.marginal(("a", "c")), want.marginal(("a", "c")))
    asked: list[Callable[[GraphicalModel], Any]] = [lambda m: m.log_z, lambda m: m.generate(20, np.random.default_rng(0))]
    for ask in asked:
        np.testing.assert_allclose(ask(model), ask(want))


@needs_torch
def test_rows_are_refined_where_memory_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.model.engine.on_torch.refine", out_of_memory)
    parameters = {pair: np.random.default_rng(1).normal(size=DOMAIN.shape(pair)) for pair in PAIRS}
    near = dict.fromkeys([("a", "c"), ("a", "b"), ("b", "c")], 1.0)
    model = GraphicalModel(DOMAIN, parameters, 50.0, engine=make_engine("torch"))
    rounded = model.generate(300, np.random.default_rng(0))
    with pytest.warns(UserWarning, match="does not fit in the memory of the GPU"):
        refined = model.generate(300, np.random.default_rng(0), near=near)
    assert (refined != rounded).any()

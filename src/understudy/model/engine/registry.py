"""The engines that there are, by name and by device. One is made when it is asked for: its library is loaded only then."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Literal, get_args

from understudy.errors import UserError, did_you_mean
from understudy.model.engine.on_numpy import NumpyEngine
from understudy.model.engine.protocol import Engine

NUMPY: Engine = NumpyEngine()
"""What is used unless another is asked for."""

Device = Literal["auto", "cpu", "cuda"]
EngineFor = Callable[[int], Engine]
"""The engine for a model whose junction tree has so many bytes."""

LARGE = 1 << 22
"""From so many bytes on a GPU is chosen, where there is one: in smaller models starting its work takes longest."""


def _on_torch() -> Engine:
    try:
        from understudy.model.engine.on_torch import TorchEngine
    except ImportError:
        raise UserError("A GPU is used through PyTorch, which is not installed: pip install 'understudy[gpu]'.") from None
    return TorchEngine(instead=NUMPY)


ENGINES: dict[str, Callable[[], Engine]] = {
    "numpy": NumpyEngine,
    "torch": _on_torch,
}


def make_engine(name: str) -> Engine:
    """Return the engine of that name."""
    if name not in ENGINES:
        raise UserError(f'There is no engine "{name}"; there is {", ".join(ENGINES)}.{did_you_mean(name, ENGINES)}')
    return ENGINES[name]()


def on_cpu(size: int) -> Engine:
    """Take NumPy for a model of any size."""
    return NUMPY


def engine_on(device: str) -> EngineFor:
    """Return how to choose an engine: on the processor, on a GPU, or (auto) on a GPU for large models where there is one."""
    if device not in get_args(Device):
        names = get_args(Device)
        raise UserError(f'The device is one of {", ".join(names)}, not "{device}".{did_you_mean(device, names)}')
    if device == "cpu":
        return on_cpu
    if device == "auto":
        return lambda size: _best() if size >= LARGE else NUMPY
    engine = make_engine("torch")
    if not _has_gpu():
        raise UserError("PyTorch finds no GPU here; install a CUDA build of it and a driver, or leave the device out.")
    return lambda size: engine


@cache
def _best() -> Engine:
    return make_engine("torch") if find_spec("torch") is not None and _has_gpu() else NUMPY


def _has_gpu() -> bool:
    from understudy.model.engine.on_torch import has_gpu

    return has_gpu()

"""The engines that there are, by name. An engine is made when it is asked for, so that its library is loaded only then."""

from __future__ import annotations

from collections.abc import Callable

from understudy.errors import UserError, did_you_mean
from understudy.model.engine.on_numpy import NumpyEngine
from understudy.model.engine.protocol import Engine

NUMPY: Engine = NumpyEngine()
"""What is used unless another is asked for."""


def _on_torch() -> Engine:
    try:
        from understudy.model.engine.on_torch import TorchEngine
    except ImportError:
        raise UserError("The engine on a GPU needs PyTorch: pip install 'understudy[gpu]'.") from None
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

"""Learning a schema reads no count but inside a question to the door."""

from __future__ import annotations

from typing import Any

import pytest

from understudy import learn_schema
from understudy.privacy import Door

from .test_learn import table


@pytest.mark.promise(10)
def test_counts_are_read_inside_a_question_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a column holds, where its bins are and which texts it has is decided by answers: far from any threshold, too."""
    asking, opened, ask = [False], Door.__init__, Door.ask

    def watched(door: Door, *given: Any, **named: Any) -> None:
        opened(door, *given, **named)
        door._read, door._texts = watching(door._read), watching(door._texts)

    def watching(read: Any) -> Any:
        def reading(*asked: Any) -> Any:
            assert asking[0], "counts were read outside a question"
            return read(*asked)

        return reading

    def asked(door: Door, question: Any) -> Any:
        asking[0] = True
        try:
            return ask(door, question)
        finally:
            asking[0] = False

    monkeypatch.setattr(Door, "__init__", watched)
    monkeypatch.setattr(Door, "ask", asked)
    rows = {name: values for name, values in table(1500).items() if name in ("age", "price", "town", "day", "paid")}
    rows["clock"] = [100 * (i % 24) + i % 60 for i in range(1500)]
    rows["born"] = [f"{day:%d-%b-%y}" for day in rows["day"]]
    rows["odd"] = [i % 3 == 0 for i in range(1500)]
    found = learn_schema(rows, epsilon=8, seed=0)
    assert {one.kind for one in found.columns} == {"integer", "real", "categorical", "date", "boolean", "time"}

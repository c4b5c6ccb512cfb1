"""Regular times come out as regular as they were: a draft declares the step that all are multiples of."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from understudy.review import check_schema, draft_schema
from understudy.review.marks import marks_of
from understudy.schema import parse_schema

ROWS = 1000
STEPS = {1440: "1 day", 60: "1 hour", 30: "30 minutes", 15: "15 minutes", 10: "10 minutes", 5: "5 minutes", 1: "1 minute"}


@pytest.mark.parametrize("minutes", STEPS)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "Asia/Kolkata"])
def test_moments_have_the_step_of_all(minutes: int, zone: str | None) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    moments = [start + timedelta(minutes=minutes * (i * 7 % 400)) for i in range(ROWS)]
    table = pa.table(
        {"at": pa.array([one if zone else one.replace(tzinfo=None) for one in moments], pa.timestamp("us", zone))}
    )
    text = draft_schema(table)
    schema = parse_schema(text)
    most = 1440 if zone in (None, "UTC") else 60 if zone == "Europe/Berlin" else 30  # 00:00 in Kolkata is 18:30 in UTC
    assert tomllib.loads(text)["columns"]["at"]["step"] == STEPS[min(minutes, most)]
    assert check_schema(table, schema) == []
    back = schema.decode(schema.encode(table), np.random.default_rng(0))["at"].to_pylist()
    local = [one.astimezone(ZoneInfo(zone)) if zone else one for one in back]
    assert not any((one.hour * 60 + one.minute) % min(minutes, most) or one.second for one in local)


@pytest.mark.parametrize("minutes", [60, 30, 15, 10, 5, 1])
@pytest.mark.parametrize("form", ["%H:%M", "%H:%M:%S", "%I:%M %p", "%H%M", "digits", "Arrow"])
def test_times_of_day_have_the_step_of_all(form: str, minutes: int, tmp_path: Path) -> None:
    times = [time(*divmod(minutes * (i * 7 % (1440 // minutes)), 60)) for i in range(ROWS * 2)]
    if form == "Arrow":
        table = pa.table({"dep_time": pa.array(times, pa.time32("s"))})
    elif form == "digits":
        table = pa.table({"dep_time": [one.hour * 100 + one.minute for one in times]})
    else:
        (tmp_path / "t.csv").write_text(
            "dep_time,sex\n" + "".join(f"{one.strftime(form)},{'fm'[one.hour % 2]}\n" for one in times)
        )
        table = tmp_path / "t.csv"
    text = draft_schema(table)
    declared = tomllib.loads(text)["columns"]["dep_time"]
    if form == "%H%M" and declared["kind"] == "categorical":
        return  # few of four digits may be codes
    [*marked] = (mark.message for mark in marks_of(text) if mark.column == "dep_time")
    assert any("all times that were seen are multiples of" in message for message in marked) == ("step" in declared)
    assert declared.get("step") == (STEPS[minutes] if minutes > 1 or form in ("%H:%M:%S", "Arrow") else None)
    assert check_schema(table, parse_schema(text)) == []
    back = parse_schema(text).decode(np.zeros((50, len(parse_schema(text).columns)), np.int32), np.random.default_rng(0))
    spelled = {str(one) for one in back["dep_time"].to_pylist()}
    assert len(spelled) <= 60 // minutes


def test_the_end_of_the_day_does_not_hide_a_step(tmp_path: Path) -> None:
    times = ["24:00" if i % 90 == 0 else f"{i % 24:02}:{15 * (i % 4):02}" for i in range(ROWS)]
    (tmp_path / "t.csv").write_text("at,sex\n" + "".join(f"{one},f\n" for one in times))
    text = draft_schema(tmp_path / "t.csv")
    assert tomllib.loads(text)["columns"]["at"]["step"] == "15 minutes"
    assert check_schema(tmp_path / "t.csv", parse_schema(text)) == []

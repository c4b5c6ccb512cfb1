"""The example table: people admitted to a hospital that does not exist, made up with a fixed seed.

Public: no row describes anybody. Its schema, written by hand, is ``example.toml`` beside this file.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.schema import Schema, parse_schema

Rng = np.random.Generator
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROWS = 20_000
SEED = 20_240_229
DAY = 86_400

REGIONS = ("North", "East", "South", "West", "Capital", "Islands")
EDUCATION = ("None", "Primary", "Secondary", "Vocational", "Bachelor", "Master or above")
MARITAL = ("Never married", "Married", "Divorced", "Widowed")
OCCUPATIONS = (
    "Office",
    "Care",
    "Teaching",
    "Trade",
    "Transport",
    "Farming",
    "Management",
    "Student",
    "Retired",
)

# How likely each occupation (columns, the last two excepted) is for each level of education (rows).
WORK = np.array(
    [
        [4, 8, 0, 20, 20, 45, 3],
        [6, 12, 1, 25, 22, 30, 4],
        [25, 20, 3, 24, 15, 8, 5],
        [12, 22, 4, 45, 8, 5, 4],
        [35, 14, 24, 4, 2, 2, 19],
        [26, 16, 28, 1, 1, 1, 27],
    ],
    dtype=np.float64,
)
PAY = np.array([31_000, 27_000, 33_000, 29_000, 26_000, 21_000, 52_000, 6_000, 18_000], dtype=np.float64)


def people(rows: int = ROWS, seed: int = SEED) -> pa.Table:
    """Return ``rows`` made-up people in 12 dependent columns; a seed always gives the same table."""
    rng = np.random.default_rng(seed)
    age = _ages(rows, rng)
    female = rng.random(rows) < 0.5 + 0.0015 * (age - 40)
    region = _pick(np.tile([22.0, 17, 19, 14, 25, 3], (rows, 1)), rng)
    education = _education(age, region, rng)
    marital = _marital(age, female, rng)
    occupation, works = _occupation(age, education, rng)
    income = _income(age, education, occupation, region, rng)
    columns = {
        "age": pa.array(age, type=pa.int64()),
        "sex": _words(("Male", "Female"), female.astype(np.int64)),
        "region": _words(REGIONS, region),
        "education": _words(EDUCATION, education),
        "marital": _words(MARITAL, marital),
        "occupation": _words(OCCUPATIONS, occupation, mask=occupation < 0),
        "hours": pa.array(_hours(works, female, marital, rng), mask=~works),
        "income": pa.array(income, mask=(occupation < 0) | (rng.random(rows) < 0.06)),
        **_stay(age, female, income, rng),
    }
    return pa.table(columns)


def schema() -> Schema:
    """Return the reviewed schema of the example table."""
    return parse_schema(schema_text(), source="example.toml")


def schema_text() -> str:
    """Return the text of ``example.toml``."""
    return files("understudy").joinpath("example.toml").read_text(encoding="utf-8")


def _pick(weights: Floats, rng: Rng) -> Ints:
    """Draw one column of each row of ``weights``, in proportion."""
    edges = np.cumsum(weights, axis=1)
    return np.asarray((rng.random(len(weights))[:, None] * edges[:, -1:] >= edges).sum(axis=1), dtype=np.int64)


def _words(words: tuple[str, ...], index: Ints, mask: Bools | None = None) -> pa.Array:
    return pa.array(list(words)).take(pa.array(np.maximum(index, 0), mask=mask))


def _ages(rows: int, rng: Rng) -> Ints:
    """Many infants and old people, as in hospitals."""
    group = _pick(np.tile([9.0, 8, 38, 45], (rows, 1)), rng)
    centre, spread = np.array([2.0, 12, 36, 68]), np.array([2.0, 5, 10, 12])
    return np.clip(np.rint(rng.normal(centre[group], spread[group])), 0, 99).astype(np.int64)


def _education(age: Ints, region: Ints, rng: Rng) -> Ints:
    level = rng.normal(2.6 + 0.5 * (region == 4) - 0.018 * np.maximum(age - 45, 0), 1.2)
    reachable = np.select([age < 7, age < 12, age < 18, age < 22], [0, 1, 2, 3], 5)
    return np.asarray(np.clip(np.rint(level), 0, reachable), dtype=np.int64)


def _marital(age: Ints, female: Bools, rng: Rng) -> Ints:
    adult = np.clip((age - 18) / 25, 0, 1)
    widowed = np.clip((age - 55) / 45, 0, 1) ** 2 * np.where(female, 1.1, 0.5)
    weights = np.stack([1.05 - 0.85 * adult, 0.75 * adult, 0.2 * adult, widowed], axis=1)
    return np.asarray(np.where(age < 18, 0, _pick(weights, rng)), dtype=np.int64)


def _occupation(age: Ints, education: Ints, rng: Rng) -> tuple[Ints, Bools]:
    """Return the occupation (-1: none) and who works for pay."""
    job = _pick(WORK[education], rng)
    student = (age >= 16) & (rng.random(len(age)) < np.clip((27 - age) / 10, 0, 0.85))
    retired = rng.random(len(age)) < np.clip((age - 57) / 10, 0, 1)
    idle = rng.random(len(age)) < 0.09
    found = np.select([age < 16, student, retired, idle], [-1, 7, 8, -1], job)
    return found, (found >= 0) & (found < 7)


def _hours(works: Bools, female: Bools, marital: Ints, rng: Rng) -> Ints:
    part_time = works & (rng.random(len(works)) < 0.12 + 0.2 * female * (marital > 0))
    return np.clip(np.rint(rng.normal(np.where(part_time, 22, 39.5), 5)), 4, 80).astype(np.int64)


def _income(age: Ints, education: Ints, occupation: Ints, region: Ints, rng: Rng) -> Floats:
    base = PAY[occupation] * (1 + 0.12 * education + 0.1 * (region == 4))
    career = 1 + 0.012 * np.clip(age - 22, 0, 30)
    income = np.clip(base * career * rng.lognormal(0, 0.28, len(age)), 0, 249_999)
    return np.asarray(np.round(income, 2), dtype=np.float64)


def _stay(age: Ints, female: Bools, income: Floats, rng: Rng) -> dict[str, pa.Array]:
    """The columns about the stay: weight, insurance, the day of admission, the moment of discharge."""
    rows = len(age)
    grown = np.clip(age / 18, 0, 1)
    weight = np.round(np.clip(rng.normal(3.5 + grown * np.where(female, 64, 76), 1 + 12 * grown), 2, 180), 1)
    insured = rng.random(rows) < np.clip(0.72 + income / 250_000, 0, 0.98)
    day = np.datetime64("2022-01-01") + _admission_day(rows, rng)
    length = rng.gamma(1.2, 1.5 + age / 25, rows) * DAY
    stay = np.maximum(length, DAY / 2) + 9 * 3600  # nobody leaves before the morning after
    leaves = (day.astype("datetime64[s]") + stay.astype("timedelta64[s]")).astype("datetime64[us]")
    return {
        "weight_kg": pa.array(weight, mask=rng.random(rows) < 0.03),
        "insured": pa.array(insured, mask=rng.random(rows) < 0.02),
        "admitted": pa.array(day),
        "discharged": pa.array(leaves, mask=leaves > np.datetime64("2023-12-31T23:59:59")),
    }


def _admission_day(rows: int, rng: Rng) -> Ints:
    """Days of two years, busier in winter."""
    days = np.arange(730)
    weights = 1 + 0.35 * np.cos(2 * np.pi * days / 365)
    return np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(rows)).clip(0, 729).astype(np.int64)

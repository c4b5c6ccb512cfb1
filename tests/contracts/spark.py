"""A real Spark session on this machine, for the contract of sources: two threads, a task may be begun four times.

Starting one takes many seconds, so Spark takes part only where ``make test-spark`` asks for it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .people import Row, arrow

ASKED = "UNDERSTUDY_TEST_SPARK"


def absent() -> str:
    """Say why there is no Spark here; nothing where there is."""
    if not os.environ.get(ASKED):
        return "Spark is tested by make test-spark"
    if shutil.which("java") is None:
        return "Spark needs Java, and there is none: install default-jre-headless"
    return "" if importlib.util.find_spec("pyspark") else "PySpark is not installed"


@cache
def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "3",
        "spark.default.parallelism": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": "/nowhere",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def spark_frame(rows: Sequence[Row], folder: Path) -> Any:
    """The rows in several partitions, as many as Spark makes of them."""
    return session().createDataFrame(arrow(rows))

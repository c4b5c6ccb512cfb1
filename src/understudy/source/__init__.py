"""Where counts come from: frames, arrays, files and queries, behind one protocol.

PRIVATE: what a source returns is exact. Only the privacy room may call ``count``.
"""

from understudy.source.codes import Codes
from understudy.source.csv import Csv
from understudy.source.opening import open_source
from understudy.source.protocol import Source
from understudy.source.spark import spark_frame, spark_session
from understudy.source.sql import Sql
from understudy.source.tables import MemorySource, StreamedSource
from understudy.source.tally import Tally
from understudy.source.unopened import unopened

__all__ = [
    "Codes",
    "Csv",
    "MemorySource",
    "Source",
    "Sql",
    "StreamedSource",
    "Tally",
    "open_source",
    "spark_frame",
    "spark_session",
    "unopened",
]

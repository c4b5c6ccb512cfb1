"""CSV and Parquet files, alone or by glob, one after another, with only the columns that are needed.

PRIVATE: reads the rows. Nothing is guessed from the content: the ending of its name says what a file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path

import pyarrow as pa

from understudy.errors import SourceError
from understudy.schema.dialect import Settings
from understudy.source import parquet
from understudy.source.csv import SEPARATORS, Csv, CsvFile, dialect_of
from understudy.source.figures import has_plain_numbers, with_plain_numbers
from understudy.source.frames import require
from understudy.source.parquet import ParquetFile

ENDINGS = (*SEPARATORS, *parquet.ENDINGS)
File = CsvFile | ParquetFile
_ZIP = "PK\x03\x04"
_SEPARATORS = (",", ";", "\t", "|")


class FilesReader:
    """Streams files one after another; each must have every declared column, in any order.

    ``figures`` are the columns in which a CSV file spells numbers as its dialect says; all others are texts as they stand.
    """

    def __init__(
        self, data: str | Path | Csv, names: Sequence[str], declared: Settings | None = None, figures: Iterable[str] = ()
    ) -> None:
        self._figures = frozenset(figures)
        self._files = [(file, file.columns()) for file in files_of(data, declared)]
        for file, columns in self._files:
            require_separated(file, columns, names)
            require(names, columns, file.what, quote=_are_names(file))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows of all files, some at a time."""
        for file, found in self._files:
            batches = file.batches(names, found)
            if isinstance(file, ParquetFile) or has_plain_numbers(file.dialect):
                yield from batches
            else:
                yield from (with_plain_numbers(one, file.dialect, self._figures) for one in batches)


def _are_names(file: File) -> bool:
    """Say whether what ``columns`` returns may be quoted: the first line of a CSV file may be a record."""
    return isinstance(file, ParquetFile) or file.dialect.header is not None


def require_separated(file: File, columns: Sequence[str], names: Sequence[str]) -> None:
    """Say so when a CSV file is empty, or its separator seems to be another one than declared."""
    if _are_names(file) or not isinstance(file, CsvFile):
        return
    require_text(file, columns)
    missing = next((name for name in names if name not in columns), None)
    if missing is not None and len(columns) == 1 < len(names):
        mark = {"\t": "a tab"}.get(file.dialect.separator, f'"{file.dialect.separator}"')
        raise SourceError(
            f'{file.what} has no column "{missing}", which the schema declares: with {mark} as separator its first line '
            "has one field. Declare the separator under [table.csv] in the schema, or with --separator."
        )


def require_fields(file: File, columns: Sequence[str]) -> None:
    """Say so when the first line of a CSV file is one field that another separator would divide; no schema tells names."""
    if _are_names(file) or not isinstance(file, CsvFile):
        return
    require_text(file, columns)
    if len(columns) == 1 and any(mark in columns[0] for mark in _SEPARATORS if mark != file.dialect.separator):
        mark = {"\t": "a tab"}.get(file.dialect.separator, f'"{file.dialect.separator}"')
        raise SourceError(
            f"{file.what} has one field in its first line with {mark} as separator, and another usual separator in that. "
            "Name the right one with --separator (separator=), or the one column with --header (header=)."
        )


def require_text(file: File, columns: Sequence[str]) -> None:
    """Say so when a file is empty, or its first line shows that it is no CSV file in an encoding that is read here."""
    if not columns:
        raise SourceError(f"{file.what} is empty: not even a first line with the names of the columns is there.")
    if columns[0].startswith(_ZIP):
        raise SourceError(f"{file.what} is a spreadsheet or an archive, and no CSV file. Save it as CSV or Parquet first.")
    if any("\x00" in name for name in columns):
        raise SourceError(
            f"{file.what} is no text with one byte for each letter; it may be UTF-16. "
            "Convert it first: iconv -f UTF-16 -t UTF-8 OLD.csv > NEW.csv"
        )


def files_of(data: str | Path | Csv, declared: Settings | None = None) -> list[File]:
    """Return the files of a path or glob; what ``data`` says of a dialect comes before what the schema declares."""
    given, path = (data, str(data.path)) if isinstance(data, Csv) else (None, str(data))
    return [_file(found, given, declared) for found in _expand(path)]


def _expand(path: str) -> list[str]:
    if Path(path).is_file():
        return [path]
    if not has_magic(path):
        if Path(path).is_dir():
            raise SourceError(f'"{path}" is a folder. For all files in it, give a glob such as "{path}/*.parquet".')
        raise SourceError(f'There is no file "{path}". For several files, give a glob such as "visits/*.parquet".')
    found = sorted(name for name in glob(path, recursive=True) if Path(name).is_file())
    if not found:
        raise SourceError(f'No file matches "{path}".')
    return found


def _file(path: str, given: Csv | None, declared: Settings | None) -> File:
    if path.lower().endswith(parquet.ENDINGS):
        if given is None:
            return ParquetFile(path)
        raise SourceError(f'"{path}" is a Parquet file, which has no separator, quote, encoding or header to declare.')
    if given is None and not path.lower().endswith(tuple(SEPARATORS)):
        endings = ", ".join(ENDINGS)
        how = "or be given with --separator, in Python as Csv(path)"
        raise SourceError(f'"{path}" is not of a known kind: a file must end in {endings}, {how}.')
    return CsvFile(path, dialect_of(path, given, declared))

"""CSV files whose records go over several lines: refused, with the command that makes a Parquet file of them.

Sees no rows.
"""

from __future__ import annotations

import re
from shlex import quote

from understudy.errors import SourceError
from understudy.schema.dialect import Dialect


def line_breaks(what: str, path: str, dialect: Dialect) -> SourceError:
    """Return the refusal of a file, of which ``what`` says where its records have line breaks."""
    return SourceError(
        f"{what}; here a record of a CSV file is one line. "
        f"Convert it to Parquet first, say with\n  {_conversion(path, dialect)}"
    )


def _conversion(path: str, dialect: Dialect) -> str:
    """Return the command that makes a Parquet file of a CSV file in this dialect."""
    given = {"sep": dialect.separator, "quotechar": dialect.quote, "encoding": dialect.encoding}
    usual = {"sep": ",", "quotechar": '"', "encoding": "utf-8"}
    unusual = "".join(f", {key}={value!r}" for key, value in given.items() if value != usual[key])
    names = f", names={list(dialect.header)!r}" if dialect.header else ""
    read = f"pandas.read_csv({path!r}, dtype=str, keep_default_na=False{unusual}{names})"
    script = f"import pandas; {read}.to_parquet({_parquet(path)!r})"
    return f"python -c {quote(script)}" if set(script) & set('"$`\\!') else f'python -c "{script}"'


def _parquet(path: str) -> str:
    return re.sub(r"(\.[ct]sv)?(\.gz)?$", "", path, flags=re.IGNORECASE) + ".parquet"

"""CSV: a record is a line. The fast reader does what the definition does, and a bad line costs only itself."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SourceError
from understudy.schema import SchemaFileError, parse_schema
from understudy.schema.dialect import Dialect, characters
from understudy.source import Csv, open_source
from understudy.source import lines as definition
from understudy.source.fields import batches, read_lines
from understudy.source.lines import MOST_LINE, blocks, parse

SCHEMA = parse_schema(
    """
    [columns.name]
    kind = "categorical"
    values = ["ann", "bob", "é"]
    other = "someone"
    nullable = true
    [columns.age]
    kind = "integer"
    min = 0
    max = 3
    nullable = true
    """
)
EVERY = [("name",), ("age",), ("name", "age"), ()]
DIALECTS = {
    "comma": Dialect(),
    "semicolon": Dialect(separator=";"),
    "tab, no quotes": Dialect(separator="\t", quote=""),
    "single quotes": Dialect(quote="'"),
    "latin-1": Dialect(encoding="latin-1"),
    "cp1252 pipes": Dialect(separator="|", encoding="cp1252"),
}
HOSTILE = [
    *(b'"', b"'", b'""', b'"""', b',"', b'",', b'"a"b', b'a"b', b'a""b,"', b'"a""', b'"ann","1"x', b'"ann,1', b"'ann,1"),
    *(
        b",",
        b",,,,,,",
        b";",
        b"\t",
        b"|",
        b"\r",
        b"\r\r",
        b"a\rb",
        b"\0",
        b"ann\0,1",
        b" ",
        b"\xef\xbb\xbfann,1",
        b"\xef\xbb\xbf",
    ),
    *(b"\xff\xfe", b"ann,\xff", b"\xe2\x82,1", b"\xc3", b"\xed\xa0\x80", b"\x81,2", b"ann", b"ann,1,2,3", b"\xef\xbf\xbd"),
    *(
        b'"\xef\xbb\xbf"',
        b'\xef\xbb\xbf"ann",1',
        b"\x1a",
        b"\\",
        b'\\"',
        b'"ann\\",1',
        b"\x85",
        b"\x0b\x0c",
        b"\xe2\x80\xa8",
    ),
]

any_line = st.one_of(
    st.sampled_from(HOSTILE),
    st.binary(max_size=12),
    st.lists(
        st.sampled_from([b'"', b"'", b",", b";", b"|", b"\t", b"a", b"\r", b"\xff", b"\xc3\xa9", b" "]), max_size=12
    ).map(b"".join),
).map(lambda line: line.replace(b"\n", b""))


def one_by_one(lines: Sequence[bytes], dialect: Dialect, wanted: Sequence[int]) -> list[tuple[str | None, ...]]:
    """Return the records as the definition has them."""
    found = [line.fields for one in lines if (line := parse(one, dialect)) is not None]
    return sorted((tuple(f[i] if i < len(f) else None for i in wanted) for f in found), key=repr)


def at_once(data: bytes, dialect: Dialect, wanted: Sequence[int], **sizes: int) -> list[tuple[Any, ...]]:
    """Return the records as the fast reader has them."""
    records: list[tuple[Any, ...]] = []
    for block in blocks(io.BytesIO(data), **sizes):
        for rows, arrays in batches(read_lines(block, dialect), dialect, wanted):
            for array in arrays:
                array.validate(full=True)
                assert len(array) == rows
            records += zip(*(array.to_pylist() for array in arrays), strict=True)
    return sorted(records, key=repr)


@pytest.mark.promise(27)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@settings(max_examples=80, deadline=None)
@given(lines=st.lists(any_line, max_size=8), wanted=st.sampled_from([[0], [1], [0, 2], [5, 1, 0]]), last=st.booleans())
def test_many_lines_at_once_are_read_as_each_alone(
    dialect: Dialect, lines: list[bytes], wanted: list[int], last: bool
) -> None:
    data = b"\n".join(lines) + (b"\n" if last else b"")
    assert at_once(data, dialect, wanted) == one_by_one(lines, dialect, wanted)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_each_hostile_line_at_each_place_is_read_as_alone(dialect: Dialect) -> None:
    plain = dialect.separator.join(["ann", "1"]).encode()
    for line in HOSTILE:
        for place in range(3):
            lines = [plain, plain]
            lines.insert(place, line)
            assert at_once(b"\n".join(lines), dialect, [0, 1]) == one_by_one(lines, dialect, [0, 1]), line


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"ann,1", ["ann", "1"]),
        (b'"ann","1"', ["ann", "1"]),
        (b'"a,b",1', ["a,b", "1"]),
        (b'"a ""b""",1', ['a "b"', "1"]),
        (b'"ann,1', ["ann,1"]),  # an unclosed quote runs to the end of the line
        (b'"ann"x"y,1', ['annx"y', "1"]),  # what follows a closing quote is text
        (b'5" pipe,1', ['5" pipe', "1"]),  # a quote inside an unquoted field is text
        (b' "ann",1', [' "ann"', "1"]),
        (b",", ["", ""]),
        (b'""', [""]),
        (b"ann,1\r", ["ann", "1"]),
        (b"ann,1\r\r", ["ann", "1\r"]),
        (b"a\rb,1", ["a\rb", "1"]),
        (b"a\0b,1", ["a\0b", "1"]),
        (b"\xef\xbb\xbfann,1", ["ann", "1"]),
        (b'\xef\xbb\xbf"ann",1', ["ann", "1"]),
        (b"a\xffb,\xe2\x82", ["a\ufffdb", "\ufffd"]),
        (b"", None),
        (b"\r", None),
        (b"\xef\xbb\xbf", None),
        (b" ", [" "]),
    ],
)
def test_what_a_line_holds(line: bytes, fields: list[str] | None) -> None:
    found = parse(line, Dialect())
    assert (None if found is None else found.fields) == fields


@settings(max_examples=100, deadline=None)
@given(lines=st.lists(any_line, max_size=6), chunk=st.integers(1, 9), more=st.integers(0, 6))
def test_how_a_file_is_cut_into_blocks_changes_no_record(lines: list[bytes], chunk: int, more: int) -> None:
    most = chunk + more
    cut = [line[:most] for line in lines]
    assert b"".join(blocks(io.BytesIO(b"\n".join(lines)), chunk, most)).split(b"\n")[: len(cut)] == (
        cut if lines and lines[-1] else [*cut[:-1], b""][: len(cut)]
    )
    assert at_once(b"\n".join(lines), Dialect(), [0, 1], chunk=chunk, most=most) == one_by_one(cut, Dialect(), [0, 1])


def counts_of(path: Path, content: bytes, dialect: Dialect) -> list[Any]:
    path.write_bytes(content)
    how = Csv(path, dialect.separator, dialect.quote, dialect.encoding)
    return [count.astype(int) for count in open_source(how, SCHEMA).count(EVERY)]


@pytest.mark.promise(28)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@settings(max_examples=25, deadline=None)
@given(line=any_line, place=st.integers(0, 4))
def test_one_line_more_moves_each_marginal_by_one_at_most(
    dialect: Dialect, line: bytes, place: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    rows = [dialect.separator.join(row).encode() for row in [("ann", "1"), ("bob", "2"), ('"bob"', "3"), ("", "")]]
    head = dialect.separator.join(("name", "age")).encode()
    before = counts_of(folder / "a.csv", b"\n".join([head, *rows]), dialect)
    after = counts_of(folder / "b.csv", b"\n".join([head, *rows[:place], line, *rows[place:]]), dialect)
    assert_one_more(before, after)


def assert_one_more(before: Sequence[Any], after: Sequence[Any], exactly: bool = False) -> None:
    for one, two in zip(before, after, strict=True):
        assert (two - one).min() >= 0
        assert (two - one).sum() <= 1
        assert not exactly or (two - one).sum() == 1


@pytest.mark.promise(28)
@pytest.mark.parametrize("place", [0, 500, 1000])
@pytest.mark.parametrize(
    "line",
    [
        b'"',
        b'"ann,1',
        b"a\xff,1",
        b"ann,\xe2\x82",
        b"z" * 3_000_000 + b",1",
        b"," * 3_000_000,
        b'"' * 3_000_001,
        b"ann",
        b"a,1,2,3",
    ],
    ids=["quote", "unclosed", "bad byte", "cut character", "3 MB", "3 M fields", "3 M quotes", "short", "long"],
)
def test_a_bad_line_costs_only_itself(tmp_path: Path, line: bytes, place: int) -> None:
    rows = [b"ann,1,\xc3\xa9", b'"bob","2",x', b"\xc3\xa9,3,x", b'"\xc3\xa9",3,"a, b"'] * 250
    before = counts_of(tmp_path / "a.csv", b"\n".join([b"name,age,note", *rows]), Dialect())
    rows.insert(place, line)
    after = counts_of(tmp_path / "b.csv", b"\n".join([b"name,age,note", *rows]), Dialect())
    assert before[0].tolist() == [250, 250, 500, 0, 0]
    assert_one_more(before, after, exactly=True)


def test_a_line_without_end_is_cut_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert MOST_LINE == 16 * 2**20

    class Endless:
        """A line of a hundred gigabytes would be read like this one of 40 MiB."""

        def __init__(self) -> None:
            self.left = 40

        def read(self, size: int, /) -> bytes:
            self.left -= 1
            return b"x" * size if self.left >= 0 else b"\nann,1" if self.left == -1 else b""

    found = list(blocks(Endless()))
    assert [len(block) for block in found] == [MOST_LINE + 1, len(b"ann,1\n")]
    assert parse(b"x" * (MOST_LINE + 5), Dialect()) == definition.Line(["x" * MOST_LINE])


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv", "a.tsv.gz"])
def test_the_ending_says_what_a_file_is(tmp_path: Path, name: str) -> None:
    data = b"name,age\nann,1\n".replace(b",", b"\t" if "tsv" in name else b",")
    (tmp_path / name).write_bytes(gzip.compress(data[:5]) + gzip.compress(data[5:]) if name.endswith("gz") else data)
    assert open_source(tmp_path / name, SCHEMA).count([("name",)])[0].tolist() == [1, 0, 0, 0, 0]


@pytest.mark.promise(31)
@pytest.mark.parametrize("damage", [lambda d: d[:-9], lambda d: d[:20] + b"SECRET" + d[26:], lambda d: b"SECRET"])
def test_a_damaged_gzip_file_is_reported_without_content(tmp_path: Path, damage: Any) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "a.csv.gz").write_bytes(damage(gzip.compress(b"name,age\n" + rng.bytes(4_000_000).replace(b"\n", b" "))))
    with pytest.raises(SourceError, match="whole file") as caught:
        open_source(tmp_path / "a.csv.gz", SCHEMA).count(EVERY)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_schema_declares_the_dialect_and_the_call_overrides_it(tmp_path: Path) -> None:
    declared = parse_schema(
        """
        [columns.name]
        kind = "categorical"
        values = ["é"]
        nullable = true
        [table.csv]
        separator = ";"
        encoding = "latin-1"
        header = ["age", "name"]
        quote = "'"
        """
    )
    path = tmp_path / "a.csv"
    path.write_bytes(b"1;'\xe9'\n2;\xe9\n")
    assert open_source(path, declared).count([("name",)])[0].tolist() == [2, 0]
    path.write_bytes(b"name|age\n'\xe9'|1\n")
    assert open_source(Csv(path, "|", header=True), declared).count([("name",)])[0].tolist() == [1, 0]
    path.write_text("é;1\n")
    other = Csv(path, encoding="utf-8", header=["name", "age"])
    assert open_source(other, declared).count([("name",)])[0].tolist() == [1, 0]


def test_a_file_of_any_name_may_be_given_as_csv(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("name|age\nann|1\n")
    assert open_source(Csv(tmp_path / "a.txt", "|"), SCHEMA).count([("name",)])[0].tolist() == [1, 0, 0, 0, 0]
    (tmp_path / "a.parquet").write_text("")
    with pytest.raises(SourceError, match="Parquet"):
        open_source(Csv(tmp_path / "a.parquet"), SCHEMA)


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("separator", "", "one ASCII character"),
        ("separator", ",,", "one ASCII character"),
        ("separator", "\n", "line break"),
        ("separator", "é", "one ASCII character"),
        ("separator", '"', "must differ"),
        ("quote", "''", "one ASCII character"),
        ("quote", ",", "must differ"),
        ("encoding", "utf-16", "iconv"),
        ("encoding", "shift_jis", "iconv"),
        ("encoding", "gbk", "iconv"),
        ("encoding", "utf-7", "iconv"),
        ("encoding", "no such", "iconv"),
        ("encoding", "rot13", "iconv"),
        ("header", [], "list of the names"),
        ("header", ["a", "a"], "twice"),
    ],
)
def test_dialects_that_make_no_sense(tmp_path: Path, setting: str, value: Any, words: str) -> None:
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(SourceError, match=words):
        open_source(Csv(tmp_path / "a.csv", **{setting: value}), SCHEMA)
    if words == "must differ":
        return
    toml = str(value).replace("'", '"') if isinstance(value, list) else '"' + value.replace("\n", "\\n") + '"'
    with pytest.raises(SchemaFileError, match=rf"line 5.*{words}"):
        parse_schema(f'[columns.a]\nkind = "boolean"\nnullable = true\n[table.csv]\n{setting} = {toml}\n')


def test_unknown_settings_of_a_dialect_are_named() -> None:
    with pytest.raises(SchemaFileError, match=r'line 5: "seperator" is not a setting.*Did you mean "separator"'):
        parse_schema('[columns.a]\nkind = "boolean"\nnullable = true\n[table.csv]\nseperator = ","\n')


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859-15", "koi8-r", "ascii", "mac-roman"])
def test_encodings_of_one_byte_are_read_as_python_reads_them(encoding: str) -> None:
    table = characters(encoding)
    assert table == bytes(range(256)).decode(encoding, "replace")
    line = bytes(b for b in range(256) if chr(b) not in '\n\r",')
    found = parse(line, Dialect(encoding=encoding))
    assert found is not None
    assert found.fields == [line.decode(encoding, "replace")]

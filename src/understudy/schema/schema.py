"""The schema: all columns of a table with their codes and impossible combinations.

``encode`` sees private rows and neither raises on a value nor drops a row; everything else is public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.errors import SchemaError, did_you_mean
from understudy.schema.binned import Binned
from understudy.schema.build import build_column, require_points
from understudy.schema.column import Column, fine_name
from understudy.schema.declaration import (
    MAX_CODES,
    Categorical,
    ColumnDeclaration,
    CsvDeclaration,
    Derived,
    Integer,
    OpenedDeclaration,
    SchemaDeclaration,
    Table,
)
from understudy.schema.derived import DerivedColumn, build_derived
from understudy.schema.dialect import problem as dialect_problem
from understudy.schema.following import followers, own
from understudy.schema.gaps import Gap
from understudy.schema.listed import Listed
from understudy.schema.orders import Order, Orders, read_order
from understudy.schema.person import Person
from understudy.schema.problems import Locate, Path, Problem, SchemaFileError, Wrong
from understudy.schema.zeros import DeclaredZeros, build_zeros, contradiction, require_one_form


@dataclass(frozen=True, eq=False)
class Schema:
    """What a table may contain. ``source`` names the file it came from, for messages."""

    columns: tuple[Column, ...]
    zeros: tuple[DeclaredZeros, ...]
    declaration: SchemaDeclaration
    source: str = "The schema"
    derived: tuple[DerivedColumn, ...] = ()
    """Columns that are worked out from ``columns``, and have no codes."""
    orders: Orders = field(default_factory=Orders)

    @classmethod
    def from_domain(cls, sizes: Mapping[str, int]) -> Schema:
        """Make a schema for integer-coded data from ``{"age": 32, "sex": 2}``.

        Codes out of range go to the nearest code; what is not a number at all counts as code 0.
        """
        for name, size in sizes.items():
            if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MAX_CODES:
                raise SchemaError(f'Attribute "{name}" needs a whole number of codes between 1 and {MAX_CODES:,}.')
        columns: dict[str, ColumnDeclaration] = {
            name: Integer(kind="integer", min=0, max=size - 1, bins=size, other=0) for name, size in sizes.items()
        }
        return build_schema(SchemaDeclaration(columns=columns), "The domain", lambda path: None)

    @property
    def draft(self) -> bool:
        """Whether a person still has to review this schema."""
        return self.table.draft

    @property
    def table(self) -> Table:
        """The settings of the whole table."""
        return self.declaration.table

    @property
    def csv(self) -> CsvDeclaration | None:
        """How CSV files of the table are written, as far as it is declared."""
        return self.table.csv

    @property
    def person(self) -> Person | None:
        """Who a person is, where one may have several rows; None where each row is a person."""
        column, rows = self.declaration.person, self.declaration.rows_per_person
        return None if column is None or rows is None else Person(column, rows, tuple(self.table.nulls))

    @property
    def open(self) -> tuple[Listed, ...]:
        """The columns whose values each run learns for itself; until then, every text of theirs is the catch-all."""
        return tuple(c for c in self.columns if isinstance(c, Listed) and c.kind == "open")

    def settled(self, texts: Mapping[str, Sequence[str]], *, private: bool = True) -> Schema:
        """Return the schema with the values that a run has learnt for each open column; where none, the catch-all alone."""
        columns = dict(self.declaration.columns)
        for column in self.open:
            settings = columns[column.name].model_dump(exclude_unset=True, exclude={"kind", "other"})
            values = [text for text in texts[column.name] if text != column.other_label]
            kept = settings if values else {**settings, "prefix": None}
            listed = values or [column.other_label]
            columns[column.name] = Categorical(kind="categorical", values=listed, other=column.other_label, **kept)
        opened = OpenedDeclaration(columns=[column.name for column in self.open], private=private)
        table = self.table.model_copy(update={"opened": opened})
        declared = self.declaration.model_copy(update={"columns": columns, "table": table})
        made = build_schema(declared, self.source, lambda path: None)
        return made.lifted if len(self.read) < len(self.columns) else made

    @property
    def read(self) -> tuple[Column, ...]:
        """The columns that a table must have; ``columns`` may have more, which follow from these (``lifted``)."""
        return tuple(own(self.columns))

    @cached_property
    def lifted(self) -> Schema:
        """The same schema, in which derived columns that codes tell have codes too, behind those of the others."""
        found = followers(self.derived, self.read)
        if not found or len(self.read) < len(self.columns):
            return self
        zeros = (*self.zeros, *(column.impossible for column in found))
        return replace(self, columns=(*self.columns, *found), zeros=zeros)

    @cached_property
    def domain(self) -> Domain:
        """The attributes and their sizes."""
        return Domain(tuple(c.name for c in self.columns), tuple(c.size for c in self.columns))

    @cached_property
    def fine(self) -> Domain:
        """The columns that have values inside their bins, each as an attribute of its own with finer bins; and then how far
        apart columns in order lie.
        """
        found = {fine_name(c.name): c.fine.size for c in self.columns if c.fine is not None}
        found |= {gap.name: gap.size for gap in self.gaps}
        return Domain.of({name: size for name, size in found.items() if name not in self.domain})

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """How far apart the columns of each declared order lie, where their codes do not tell it."""
        return self.orders.gaps

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.domain.index(name)]

    @cached_property
    def written(self) -> tuple[Column | DerivedColumn, ...]:
        """The columns of a decoded table, derived ones among them, in the order of their declaration."""
        known: dict[str, Column | DerivedColumn] = {column.name: column for column in self.read}
        known |= {column.name: column for column in self.derived}
        return tuple(known[name] for name in self.declaration.columns)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The names and Arrow types of a decoded table."""
        return pa.schema([pa.field(column.name, column.type) for column in self.written])

    def require_columns(self, names: Iterable[str]) -> None:
        """Check that a table with columns ``names`` has every declared one, and maybe more. Sees no value."""
        present = list(names)
        spare = [name for name in present if name not in self.declaration.columns]
        problems = [
            Problem(f"the table has no such column.{did_you_mean(column.name, spare)}", column.name, column.line)
            for column in self.read
            if column.name not in present
        ]
        if problems:
            raise SchemaFileError(self.source, problems)
        twice = next((c.name for c in self.read if present.count(c.name) > 1), None)
        if twice is not None:
            raise SchemaError(f'The table has two columns named "{twice}"; rename one of them.')

    def require_counted(self, names: Iterable[str]) -> None:
        """Refuse the name of a derived column, or of who a person is, where a column with codes is asked for."""
        wanted = set(names)
        if self.person is not None and self.person.column in wanted:
            raise SchemaError(f'Column "{self.person.column}" identifies a person: it is never counted, and never released.')
        for column in self.derived:
            if column.name in wanted and column.name not in self.domain:
                parents = " and ".join(f'"{parent.name}"' for parent in column.parents)
                raise SchemaError(f'Column "{column.name}" is derived, and has no counts of its own; ask for {parents}.')

    def encode(self, table: pa.Table | pa.RecordBatch) -> NDArray[np.int32]:
        """Return codes, rows × columns, each column contiguous. Any value gets a code; no row is dropped."""
        self.require_columns(table.schema.names)
        codes = np.empty((table.num_rows, len(self.read)), dtype=np.int32, order="F")
        for position, column in enumerate(self.read):
            codes[:, position] = column.encode(table.column(column.name))
        return self.follow(codes)

    def follow(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the codes of all columns, given those of the columns that are read."""
        places = {column.name: place for place, column in enumerate(self.read)}
        more = [c.follow([codes[:, places[p]] for p in c.parents]) for c in self.columns if c.parents]
        return codes if not more else np.asfortranarray(np.column_stack([codes, *more]))

    def decode(
        self,
        codes: NDArray[np.integer],
        rng: np.random.Generator,
        inside: Mapping[str, NDArray[np.float64]] | None = None,
        given: Mapping[str, pa.Array] | None = None,
    ) -> pa.Table:
        """Return a table in the user's own types; a value inside a bin is drawn with ``rng``.

        Uniformly, or by the weights that ``inside`` has for the fine bins of a column; columns in order as far apart as
        those for the cells of their gap say. ``given`` are whole columns that are known already. Declared orders hold, and
        derived columns are worked out.
        """
        return self.put_together(codes, self.draw(codes, rng, inside, given))

    def draw(
        self,
        codes: NDArray[np.integer],
        rng: np.random.Generator,
        inside: Mapping[str, NDArray[np.float64]] | None = None,
        given: Mapping[str, pa.Array] | None = None,
    ) -> dict[str, pa.Array]:
        """Return what ``decode`` needs all rows for: the columns whose values are drawn, or that declared orders are about.

        Those that are ``given`` are among them.
        """
        self._require_codes(codes)
        known = given or {}
        arrays: dict[str, pa.Array] = {}
        for position, column in enumerate(self.columns):
            if column.name in known:
                arrays[column.name] = known[column.name]
            elif isinstance(column, Binned) and column.drawn:
                arrays[column.name] = column.decode(_one(codes, position), rng, (inside or {}).get(column.name))
            elif column.name in self.orders.measures:
                arrays[column.name] = column.decode(_one(codes, position), rng)
        apart = {name: _one(codes, self.domain.index(name)) for name in self.orders.measures}
        self.orders.settle(arrays, apart, rng, inside or {}, tuple(known))
        return arrays

    @cached_property
    def drawn(self) -> int:
        """How many columns ``draw`` returns."""
        return sum((isinstance(c, Binned) and c.drawn) or c.name in self.orders.measures for c in self.columns)

    def put_together(self, codes: NDArray[np.integer], drawn: Mapping[str, pa.Array]) -> pa.Table:
        """Return the table of some rows, given their codes and what ``draw`` returned for them."""
        self._require_codes(codes)
        arrays = {
            column.name: drawn[column.name]
            if column.name in drawn
            else column.decode(_one(codes, position), np.random.default_rng(0))  # from which nothing is drawn
            for position, column in enumerate(self.read)
        }
        arrays |= {column.name: column.work_out(arrays) for column in self.derived}
        return pa.Table.from_arrays([arrays[column.name] for column in self.written], schema=self.arrow_schema)

    def _require_codes(self, codes: NDArray[np.integer]) -> None:
        if codes.ndim != 2 or codes.shape[1] != len(self.columns):
            raise SchemaError(f"Codes must be rows × {len(self.columns)} columns, one for each column of the schema.")
        for position, column in enumerate(self.columns):
            one = codes[:, position]
            if len(one) and (one.min() < 0 or one.max() >= column.size):
                raise SchemaError(f'Codes of column "{column.name}" must lie between 0 and {column.size - 1}.')


def _one(codes: NDArray[np.integer], position: int) -> NDArray[np.integer]:
    """Return one column by itself, in a type that can be calculated with."""
    return np.ascontiguousarray(codes[:, position], dtype=np.result_type(codes.dtype, np.int32))


def require_reviewed(schema: Schema) -> None:
    """Refuse a draft: it was written by looking at the data, and used unreviewed it discloses what it saw."""
    if schema.draft:
        raise SchemaError(
            f"{schema.source} is still a draft, written by looking at the data. Run understudy schema review: it goes "
            "through what is left to decide, and then sets draft = false under [table]."
        )


def require_learnt_privately(schema: Schema) -> None:
    """Refuse a schema that was learnt with seeded noise: it discloses what it learnt."""
    found = (schema.table.learnt, schema.table.opened)
    if any(one is not None and not one.private for one in found):
        raise SchemaError(
            f"{schema.source} was learnt with a seed, for research, and is not private. Learn it again without one."
        )


def build_schema(declared: SchemaDeclaration, source: str, locate: Locate) -> Schema:
    """Build the columns and zeros; every problem is reported at once."""
    problems: list[Problem] = []
    columns: list[Column] = []
    if declared.table.csv is not None and (wrong := dialect_problem(declared.table.csv)) is not None:
        problems.append(Problem(wrong[1], line=locate(("table", "csv", wrong[0]))))
    if (fault := _person_fault(declared)) is not None:
        problems.append(Problem(fault.message, line=locate(_key(fault))))
    for name, column in declared.columns.items():
        path: Path = ("columns", name)
        try:
            if not isinstance(column, Derived):
                columns.append(build_column(name, column, declared.table.nulls, locate(path)))
                require_points(columns[-1], declared.table.csv)
        except Wrong as fault:
            problems.append(Problem(fault.message, name, locate((*path, *_key(fault)))))
    if not problems and not columns:
        problems.append(Problem("every column is derived; declare those that they follow from.", line=locate(("columns",))))
    if problems:
        raise SchemaFileError(source, problems)
    schema = Schema(tuple(columns), (), declared, source)
    derived = _build_derived(schema, locate)
    zeros, orders = _build_zeros(schema, locate)
    return Schema(tuple(columns), zeros, declared, source, derived, orders)


def _build_derived(schema: Schema, locate: Locate) -> tuple[DerivedColumn, ...]:
    found: list[DerivedColumn] = []
    problems: list[Problem] = []
    for name, column in schema.declaration.columns.items():
        path: Path = ("columns", name)
        try:
            if isinstance(column, Derived):
                found.append(build_derived(name, column, schema.columns, locate(path)))
        except Wrong as fault:
            problems.append(Problem(fault.message, name, locate((*path, *_key(fault)))))
    if problems:
        raise SchemaFileError(schema.source, problems)
    return tuple(found)


def _person_fault(declared: SchemaDeclaration) -> Wrong | None:
    """Say what is wrong with the declaration of a person."""
    person, rows = declared.person, declared.rows_per_person
    if person is None and rows is not None:
        return Wrong("rows_per_person needs person = ..., the column that identifies a person.", "rows_per_person")
    if person is not None and rows is None:
        return Wrong("person needs rows_per_person = ..., how many rows of each person are used at most.", "person")
    if person in declared.columns:
        return Wrong(f'"{person}" identifies a person, so it is never released: take it out of the columns.', "person")
    return None


def _key(wrong: Wrong) -> Path:
    return () if wrong.key is None else (wrong.key,)


def _build_zeros(schema: Schema, locate: Locate) -> tuple[tuple[DeclaredZeros, ...], Orders]:
    """Build every entry of [[zeros]]: listed combinations and rules, then the orders all together."""
    zeros: list[DeclaredZeros] = []
    orders: list[Order] = []
    problems: list[Problem] = []
    for position, entry in enumerate(schema.declaration.zeros):
        try:
            require_one_form(entry)
            if entry.always is not None:
                orders += read_order(entry.always, schema.columns)
                _ = Orders(tuple(orders)).zeros(schema.domain.attributes)
            else:
                zeros.append(build_zeros(entry, schema.columns))
        except Wrong as wrong:
            problems.append(Problem(f"[[zeros]] {wrong.message}", line=locate(("zeros", position, *_key(wrong)))))
    if not problems:
        zeros += Orders(tuple(orders)).zeros(schema.domain.attributes)
    if not problems and (message := contradiction(zeros, schema.domain)):
        problems.append(Problem(message, line=locate(("zeros", 0))))
    if problems:
        raise SchemaFileError(schema.source, problems)
    taken = {name for column in schema.domain for name in (column, fine_name(column))}
    return tuple(zeros), Orders(tuple(orders), frozenset(taken))

"""The finished thing: a synthetic table, the model behind it, what was measured, how far off it may be, what was spent.

Public: everything here was released by the door, computed from that, or declared. It never needs the private table again.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import UserError
from understudy.manifest import Manifest, RoundEntry
from understudy.privacy import Charge, Distances, Unit
from understudy.release.answer import Answer
from understudy.release.asked import Asked
from understudy.release.contents import Contents
from understudy.release.crew import Told, by_processes, draw_parts
from understudy.release.drawing import Drawing
from understudy.release.figure_intervals import Simulation
from understudy.release.figures import Figures, computed, figures
from understudy.release.frames import Convert, to_arrow
from understudy.release.inside import held_columns, told_sums
from understudy.release.marks import carries_mark
from understudy.release.parts import Parts, Sample
from understudy.release.show import as_html, as_text
from understudy.release.spark import draw_files, draw_frame
from understudy.release.storage import read, save
from understudy.release.synthetic import SyntheticTable
from understudy.report import render_report
from understudy.report.figures import LEVELS
from understudy.schema.binned import Binned
from understudy.uncertainty import (
    Bootstrap,
    BootstrapIntervals,
    Bound,
    Evidence,
    Intervals,
    SumBound,
    TableMarginals,
    bootstrap_intervals,
    bounds,
    cell_intervals,
    sum_bounds,
)

TableFormat = Literal["csv", "parquet"]


@dataclass(frozen=True, eq=False, repr=False)
class Release(Contents):
    """A synthetic table with everything that may be known about it. ``manifest`` is what ``release.json`` says."""

    convert: Convert = to_arrow
    """Makes the kind of table that came in out of synthetic rows."""

    def __post_init__(self) -> None:
        """Mark the table, if the release is not private."""
        object.__setattr__(self, "synthetic", self.synthetic.marked(self.notice))

    @cached_property
    def table(self) -> Any:
        """The synthetic table, as the kind of table that came in (an Arrow table for files and loaded releases)."""
        return self._handed_out(self.synthetic, caller=4)

    def _handed_out(self, table: SyntheticTable, caller: int = 3) -> Any:
        """Return the kind of table that came in; one that cannot carry the mark of a seeded run comes with a warning."""
        made = self.convert(table.marked(self.notice))
        if not self.private and not carries_mark(made):
            warnings.warn(f"{self.notice} This kind of table cannot say so itself.", stacklevel=caller)
        return made

    @property
    def record(self) -> Manifest:
        """The former name of ``manifest``."""
        return self.manifest

    @property
    def epsilon(self) -> float:
        """Of the promise, with ``delta``."""
        return self.manifest.privacy.epsilon

    @property
    def delta(self) -> float:
        """Of the promise, with ``epsilon``."""
        return self.manifest.privacy.delta

    @property
    def rho(self) -> Fraction:
        """The budget in zCDP, exactly."""
        return self.manifest.privacy.rho.fraction

    @property
    def spent(self) -> Fraction:
        """What the run spent, exactly."""
        return self.manifest.privacy.spent.fraction

    @property
    def spend(self) -> tuple[Charge, ...]:
        """Every charge, in order."""
        return tuple(Charge(charge.rho.fraction, charge.purpose) for charge in self.manifest.charges)

    @property
    def unit(self) -> Unit:
        """Which tables count as neighbours."""
        privacy = self.manifest.privacy
        return Unit("replace" if privacy.unit == "replace" else "add-remove", privacy.rows_per_person, privacy.person)

    @property
    def rounds(self) -> tuple[RoundEntry, ...]:
        """Every round: what was chosen, with how much noise, at what cost."""
        return tuple(self.manifest.rounds)

    @property
    def domain(self) -> Domain:
        """The columns and their numbers of codes."""
        return self.schema.domain

    @property
    def weight(self) -> float:
        """How many rows of the private table one synthetic row stands for (about 1, unless rows were asked for)."""
        return self.manifest.table.weight

    @property
    def codes(self) -> NDArray[np.int32]:
        """The synthetic table as codes of the schema, rows × columns."""
        return self.synthetic.codes

    @cached_property
    def bounds(self) -> dict[Clique, Bound]:
        """How far off each marginal of the synthetic table may be: in rows, summed over cells, each by itself.

        Every synthetic row counts as ``weight`` rows. Of a workload with very many marginals a part is listed; ``marginal``
        has the bound of any other that there is one for.
        """
        confidence = self.manifest.confidence
        return {
            clique: Bound(clique, b.kind, b.table, confidence, b.round, b.checked)
            for b in self.manifest.bounds
            if (clique := self.domain.clique(b.columns))
        }

    @cached_property
    def sum_bounds(self) -> dict[Clique, SumBound]:
        """How far off the sums that the workload asks for may be, in the synthetic table: all of a query, added up."""
        return sum_bounds(self.workload, self.measurements, lambda r: self.table_marginal(*r), self.bounds)

    @cached_property
    def model_sum_bounds(self) -> dict[Clique, SumBound]:
        """As ``sum_bounds``, for the model instead of the table drawn from it."""
        return sum_bounds(self.workload, self.measurements, self.model.marginal, self.model_bounds)

    @cached_property
    def model_bounds(self) -> dict[Clique, Bound]:
        """As ``bounds``, for the model instead of the table drawn from it."""
        known = self.bounds
        return {
            clique: Bound(clique, b.kind, b.model, known[clique].confidence, b.round, b.checked)
            for b in self.manifest.bounds
            if (clique := self.domain.clique(b.columns))
        }

    @cached_property
    def evidence(self) -> Evidence:
        """What bounds rest on, without the models of earlier rounds (so: measurements and distances)."""
        zeros = self.schema.zeros
        return Evidence(self.workload, self.model, self.measurements, zeros, self.rho, distances=self.distances)

    @property
    def distances(self) -> Distances | None:
        """How far the model turned out to be from the private table, with noise; None where no budget was kept for that."""
        found = self.manifest.check
        if found is None:
            return None
        cliques = tuple(self.domain.clique(m.columns) for m in found.marginals)
        values = np.array([m.distance for m in found.marginals], dtype=np.int64)
        return Distances(cliques, values, found.sigma, found.rho.fraction, self.private)

    def intervals(self, *columns: str, confidence: float = 0.95, simultaneous: bool = False) -> Intervals:
        """Return intervals for the private table's own counts on ``columns``, which a measurement must contain."""
        return cell_intervals(self.evidence, columns, confidence=confidence, simultaneous=simultaneous)

    @cached_property
    def bootstrap(self) -> Bootstrap:
        """Draws of what the private table may be, that bootstrap intervals are made of; worked out when first asked for."""
        held = held_columns(self.schema, self.model, self.fine, self.manifest)
        return Bootstrap(self.evidence, held, told_sums(self.schema, self.model, self.fine))

    @cached_property
    def _simulation(self) -> Simulation:
        return Simulation(self, self.bootstrap)

    def bootstrap_intervals(self, *columns: str, confidence: float = 0.95) -> BootstrapIntervals:
        """Return where the private table's own counts on ``columns`` are expected, whatever was measured.

        Much narrower than the bounds, and not proved: how often they hold was measured (docs/intervals.md). The first call
        takes some seconds, and minutes for a model of tens of megabytes.
        """
        if not columns:
            raise UserError('Name at least one column, such as release.bootstrap_intervals("age").')
        self.schema.require_counted(columns)
        return bootstrap_intervals(self.bootstrap, columns, confidence=confidence)

    def table_marginal(self, *columns: str) -> NDArray[np.float64]:
        """Return the synthetic table's counts on ``columns`` (domain order), each row counted ``weight`` times."""
        return self.table_marginals([self.domain.clique(columns)])[0]

    def table_marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.float64]]:
        """As ``table_marginal``, for several sets of columns at once."""
        return [np.asarray(counts * self.weight, np.float64) for counts in self._counted.marginals(cliques)]

    @cached_property
    def _counted(self) -> TableMarginals:
        return TableMarginals(self.domain, self.synthetic.narrow)

    def marginal(self, *columns: str) -> Answer:
        """Return the model's counts on ``columns`` in the values of the schema, with their bound where there is one."""
        if not columns:
            raise UserError('Name at least one column, such as release.marginal("age").')
        self.schema.require_counted(columns)
        clique = self.domain.clique(columns)
        bound = self.model_bounds.get(clique) or bounds(
            self.evidence, confidence=self.manifest.confidence, cliques=[clique]
        ).get(clique)
        labels = tuple(self.schema[name].labels for name in columns)
        return Answer(columns, labels, self.model.marginal(columns), bound, self.private)

    def expected(self, column: str) -> dict[str, str]:
        """Return where the private table's mean, total and quantiles of a column are expected, as text, for a report.

        Empty where the column was never measured, or where that would take long.
        """
        if not self.bootstrap.quick or self.bootstrap.unmeasured([column]):
            return {}
        found = self.schema[column]
        asked = {"Mean": Asked("mean", column, ())} | {n: Asked("quantile", column, (), at) for n, at in LEVELS.items()}
        if isinstance(found, Binned) and found.adds_up:
            asked["Total"] = Asked("total", column, ())
        return {name: computed(self._simulation, one, name).expected(found) for name, one in asked.items()}

    def answer(self, query: str, *, least: float = 0, confidence: float | None = 0.95) -> Figures:
        """Return a figure for each group: ``mean(income) by region``, ``quantile(income, 0.9)``, ``share(sex = F) by year``.

        There are mean, total (or sum), median, quantile, count and share. They are computed from the model and from what
        lies inside bins, at no cost in privacy. Each has a bootstrap interval; no bound is proved. Groups of fewer than
        ``least`` rows, by the model, are left out. The first call takes some seconds (minutes for a model of tens of
        megabytes); with ``confidence=None``, for a mixture, or a column that was never measured, there are none.
        """
        return figures(self._simulation, query, least=least, level=confidence if self.bootstrap.possible else None)

    def sample(self, rows: int, given: Mapping[str, Any] | None = None, *, rng: np.random.Generator | None = None) -> Any:
        """Return ``rows`` new rows, all with the ``given`` values (``{"sex": "F"}``), in the kind of table that came in.

        A value is given as the table has it, None or "null" for a missing one, or a bin by its label ("70 to 79").
        Costs no privacy: rows are drawn from the model. ``rng`` is for repeatable draws, and may be any generator.
        """
        rng = rng or np.random.default_rng(secrets.randbits(128))
        return self._handed_out(Drawing(self, given).table(_whole(rows), rng))

    def to_pandas(self, *, nullable: bool = False) -> Any:
        """Return the synthetic table as a pandas frame, whatever kind came in.

        ``nullable``: whole numbers, floats and booleans in the types of pandas that have a missing value of their own
        (Int64, Float64, boolean). In its usual ones, as in ``table``, whole numbers that may be missing are floats.
        """
        from understudy.release.as_pandas import to_pandas

        return to_pandas(self.arrow, self.schema, nullable=nullable)

    def sample_to(
        self,
        folder: str | Path,
        rows: int,
        given: Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        refined: bool = False,
        workers: int = 2,
        session: Any = None,
        progress: Told | None = None,
    ) -> Path:
        """Write ``rows`` new rows, however many, to Parquet files in ``folder``; memory does not grow with their number.

        Each file is drawn by itself, with counts near the model's, by so many ``workers`` (processes). The same ``seed``
        gives the same rows, whatever their number. What was stopped goes on when it is asked for again: files that are there
        stay, and a folder with another sample is refused. ``progress`` is told how many rows there are. Rows that are
        ``refined``, as those of a release's own table are, come nearer to the model on the workload's marginals, file by
        file; they take several times as long, and are no unbiased draw.

        The executors of a Spark ``session`` draw the files instead, where one is given: the same rows, into a folder that
        they share with this process.
        """
        asked = Sample.of(self, _whole(rows), given, None if seed is None else _whole(seed, "seed"), refined=refined)
        Drawing(self, asked.given)  # what cannot be drawn is refused before there is a folder
        parts = Parts.begun(Path(folder), asked, seeded=seed is not None)
        by = by_processes(max(1, _whole(workers, "workers"))) if session is None else partial(draw_files, session=session)
        draw_parts(self, parts, by, progress or (lambda there: None))
        return parts.folder

    def sample_frame(
        self, session: Any, rows: int, given: Mapping[str, Any] | None = None, *, seed: int | None = None
    ) -> Any:
        """Return ``rows`` new rows as a DataFrame of the Spark ``session``, to be written wherever Spark writes.

        Its executors draw them, when Spark asks for them, in as many partitions as there are parts. The rows are those that
        ``sample_to`` writes with the same ``seed``; without one, a seed is made up, so that they stay the same.
        """
        asked = Sample.of(self, _whole(rows), given, None if seed is None else _whole(seed, "seed"))
        Drawing(self, asked.given)
        return draw_frame(self, asked, session)

    def save(self, folder: str | Path, *, format: TableFormat = "csv", report: bool = True, overwrite: bool = False) -> Path:
        """Write the release and its ``report`` to ``folder``, all of it or nothing; ``understudy.load`` reads it back."""
        page = render_report if report else None
        return save(self, Path(folder), format=format, page=page, overwrite=overwrite)

    def __repr__(self) -> str:
        return as_text(self.manifest)

    def _repr_html_(self) -> str:
        return as_html(self.manifest, next(self.synthetic.tables(5)))


def load(folder: str | Path) -> Release:
    """Read a release back; a missing, damaged, foreign or too new one is a ``FormatError``."""
    found = read(Path(folder))
    return Release(found.manifest, found.schema, found.model, found.measurements, found.synthetic, found.fine)


def _whole(number: int, what: str = "rows") -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise UserError(f"{what} must be a whole number of at least 0, not {number!r}.")
    return int(number)

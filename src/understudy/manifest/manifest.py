"""What ``release.json`` says, as pydantic models; the published JSON Schema is made from these.

Public: parameters, spends, sizes and bounds, all of them released or computed from what was. No wall-clock time is in
it, because how long a count takes may depend on the table.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from understudy.mechanism.outcome import is_told
from understudy.privacy.amounts import PATTERN, amount_text, parse_amount
from understudy.privacy.cost import float_above, selection_cost

FORMAT, VERSION = "understudy-release", 1
NOT_PRIVATE = "NOT PRIVATE: made with a seeded generator, for research. Whoever knows the seed can remove the noise."

Finite = Annotated[float, Field(allow_inf_nan=False)]
Size = Annotated[int, Field(ge=0)]


class Entry(BaseModel):
    """What every part shares: unknown keys are errors, and nothing is converted silently."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Amount(Entry):
    """An amount of zCDP budget (rho)."""

    value: Finite = Field(ge=0, description="The amount, rounded up to a floating-point number.")
    exact: str = Field(
        pattern=f"^(?:{PATTERN})$", max_length=1 << 20, description="The amount exactly, as a fraction; hexadecimal if long."
    )

    @classmethod
    def of(cls, rho: Fraction) -> Amount:
        """Write a fraction down."""
        return cls(value=float_above(rho), exact=amount_text(rho))

    @property
    def fraction(self) -> Fraction:
        """The amount exactly."""
        return parse_amount(self.exact)


class MechanismEntry(Entry):
    """How the measurements were chosen."""

    name: str = Field(description="The mechanism, such as aim.")
    options: dict[str, Any] = Field(description="Settings that differ from the mechanism's defaults.")
    ended: Literal["budget", "time"] = Field(description="What ran out first. Time depends on the machine that ran it.")
    most_rounds: Size = Field(description="No run with these settings can have more rounds than this.")
    forecasts: dict[str, Finite] = Field(
        default={}, description="Where it was chosen by forecast: the error forecast for each mechanism, before the run."
    )
    forecast_rows: Size | None = Field(
        default=None, description="The rows that forecasts were made for: as many as were asked for, or a guess."
    )


class PrivacyEntry(Entry):
    """What was promised."""

    epsilon: Finite = Field(
        ge=0, description="Of (epsilon, delta) differential privacy; 0 where delta alone covers a very small rho."
    )
    delta: Finite = Field(gt=0, lt=1, description="Of (epsilon, delta) differential privacy.")
    rho: Amount = Field(description="The budget that epsilon and delta stand for, in zero-concentrated DP (zCDP).")
    spent: Amount = Field(description="The sum of all charges; never above rho.")
    unit: Literal["add_remove", "replace"] = Field(
        description="Which tables are neighbours: what one row, or one person, may change."
    )
    person: str | None = Field(
        default=None, description="The column that identified a person; null where each row was taken for one."
    )
    rows_per_person: int = Field(default=1, ge=1, description="How many rows of each person were used at most.")


class AskedEntry(Entry):
    """The sums of cells that are asked of a marginal: a map for some of its attributes."""

    prefixes: list[str] = Field(default=[], description="Attributes of which each value counts with all lower ones.")
    ranges: list[str] = Field(default=[], description="Attributes of which all ranges of values count.")
    weights: dict[str, list[list[int]]] = Field(default={}, description="For each sum, the weight of each value.")


class QueryEntry(Entry):
    """One marginal of the workload."""

    attributes: list[str] = Field(min_length=1)
    weight: Finite = Field(gt=0)
    asked: AskedEntry | None = Field(default=None, description="Null where the cells themselves are asked for.")


class RuleEntry(Entry):
    """All marginals of some number of columns, each of weight 1."""

    size: int = Field(ge=1, description="How many columns each has.")
    column: str | None = Field(description="A column that each of them has; null where any will do.")


class WorkloadEntry(Entry):
    """The marginals that the table should preserve: listed, or by a rule where they are very many."""

    name: str = Field(description="As it was asked for: all-3way, target:COLUMN, or custom.")
    queries: Size = Field(description="How many queries there are; errors are averaged over these.")
    marginals: list[QueryEntry] | None = Field(default=None, min_length=1, description="Null where there is a rule.")
    rule: RuleEntry | None = Field(default=None, description="Null where the marginals are listed.")

    @model_validator(mode="after")
    def _listed_or_ruled(self) -> WorkloadEntry:
        if (self.marginals is None) == (self.rule is None):
            raise ValueError("a workload has a list of marginals or a rule")
        return self


class TableEntry(Entry):
    """The synthetic table."""

    rows: Size = Field(description="Rows of the synthetic table.")
    total: Finite = Field(ge=0, description="The private table's rows, as estimated from the noisy measurements.")
    total_stddev: Finite | None = Field(
        default=None, ge=0, description="The standard deviation of the noise on the total; null where nobody kept it."
    )
    weight: Finite = Field(
        ge=0, description="How many rows of the private table one synthetic row stands for: total / rows."
    )

    @property
    def told(self) -> bool:
        """Whether the total says how many rows there are; false where its noise is as large."""
        return is_told(self.total, self.total_stddev)


class ModelEntry(Entry):
    """The model behind the table."""

    size: Size = Field(description="Bytes of its junction tree, of its components, or of its regions.")
    cliques: list[list[str]] = Field(description="Its maximal cliques: columns in one clique depend on each other directly.")
    measured: Size = Field(description="How many noisy marginals it was fitted to.")
    components: Size = Field(
        default=0, description="Of a mixture, in each component of which columns are independent; 0 for others."
    )
    regions: Size = Field(
        default=0, description="Of a model of regions: marginals that agree where they overlap. 0 for others."
    )

    @property
    def kind(self) -> str:
        """What it is, in words."""
        if self.regions:
            return f"set of {self.regions:,} marginals that agree where they overlap"
        return f"mixture of {self.components:,} products" if self.components else "graphical model"


class ChargeEntry(Entry):
    """One accepted charge."""

    purpose: str
    rho: Amount


class RoundEntry(Entry):
    """One round: a private choice, and a measurement of what was chosen."""

    index: int = Field(ge=1)
    chosen: list[str] = Field(description="The columns of the marginal that was chosen and measured.")
    candidates: Size = Field(description="How many marginals it was chosen from.")
    epsilon: Finite = Field(description="Of the private choice.")
    noise: Literal["gaussian", "laplace"]
    scale: Finite = Field(description="The scale of the noise: sigma of a discrete Gaussian, b of a discrete Laplace.")
    sigma: Finite = Field(description="The standard deviation of the noise on each cell.")
    cells: Size = Field(description="Cells of the measured marginal.")
    rho: Amount = Field(description="What the round cost: choice and measurement together.")
    change: Finite = Field(description="How far the model's answer on the chosen marginal moved, in rows (L1).")
    threshold: Finite = Field(description="How far noise alone would be expected to move it; less lowers the noise.")
    annealed: bool = Field(description="Whether the next round got less noise.")
    final: bool = Field(description="Whether this round used up the budget.")
    size: Size = Field(
        description="Bytes of the model's junction tree, of its components, or of its regions, after the round."
    )
    limit: Size | None = Field(default=None, description="Bytes that it was allowed to grow to; null where nobody kept it.")

    @property
    def choosing(self) -> float:
        """What the private choice cost, in rho."""
        return float(selection_cost(self.epsilon))

    @property
    def measuring(self) -> float:
        """What the measurement cost, in rho."""
        return float(self.rho.fraction) - self.choosing


class BoundEntry(Entry):
    """How far off one marginal may be, summed over its cells, in rows of the private table."""

    columns: list[str] = Field(min_length=1)
    kind: Literal["supported", "unsupported"] = Field(description="Whether a measurement contains the marginal.")
    table: Finite = Field(ge=0, description="Bound for the synthetic table, each row counted `weight` times.")
    model: Finite = Field(ge=0, description="Bound for the model.")
    round: int | None = Field(description="Of an unsupported marginal: the round whose choice the bound rests on.")
    checked: bool = Field(default=False, description="Whether it rests on the check of the finished model instead.")


class DistanceEntry(Entry):
    """How far the model is from the private table on one marginal, with noise."""

    columns: list[str] = Field(min_length=1)
    distance: int = Field(
        ge=-(2**63),
        lt=2**63,
        description="In rows (L1, from the model's counts rounded to integers); noisy, so it may be negative.",
    )


class CheckEntry(Entry):
    """The last look: how far the finished model is from the private table, marginal by marginal."""

    sigma: Finite = Field(gt=0, description="The scale of the discrete Gaussian noise on each distance.")
    rho: Amount = Field(description="What the check cost.")
    marginals: list[DistanceEntry] = Field(min_length=1)


class InsideEntry(Entry):
    """One look at where inside its bins a column's values lie: noisy counts of finer bins, in ``inside/``.

    Or at how far they lie above those of a column that is never above it.
    """

    column: str
    above: str | None = Field(default=None, description="The column below it, where distances from it were counted.")
    cells: Size = Field(description="How many finer bins were counted, with those of missing and other values.")
    sigma: Finite = Field(ge=0, description="The standard deviation of the noise on each count.")
    rho: Amount = Field(description="What it cost.")


class SumEntry(Entry):
    """One noisy sum of a column, asked for at the end of a run: of clipped values, by finer bins, in ``inside/``."""

    column: str
    sigma: Finite = Field(ge=0, description="The standard deviation of the noise, in units of the weights in ``inside/``.")
    rho: Amount = Field(description="What it cost.")


class OpenedEntry(Entry):
    """An open column: the texts that many rows have became its values, under the run's own budget."""

    column: str
    values: Size = Field(description="How many texts were told.")
    sigma: Finite = Field(gt=0, description="The scale of the discrete Gaussian noise on the count of each text.")
    delta: Finite = Field(gt=0, lt=1, description="The part of delta that it took.")
    threshold: int = Field(ge=1, description="A text was told only where its count with noise reached this number.")
    rare: Size = Field(description="A text that no more rows than this have was told with a chance of delta at most.")
    rho: Amount = Field(description="What it cost.")


class PublicEntry(Entry):
    """A public table that the run was given. The promise does not cover its rows."""

    rows: Size = Field(description="Its rows.")
    digest: str = Field(pattern="^[0-9a-f]{64}$", description="A hash of its counts.")
    used: bool = Field(description="Whether the model starts from it; false where the private table was too far from it.")


class LedgerReference(Entry):
    """The ledger that the run's budget was taken from. The ledger itself stays with its owner."""

    dataset: str = Field(description="The table's name in the ledger, as its owner chose it.")
    head: str = Field(
        pattern="^[0-9a-f]{64}$", description="A hash of the ledger: one without it is not the same, or older."
    )


class Manifest(Entry):
    """A release of Understudy: what was made, how, under which promise, and how far off it may be."""

    model_config = ConfigDict(title="Understudy release")

    format: Literal["understudy-release"] = "understudy-release"
    version: Literal[1] = 1
    understudy: str = Field(description="The version of the software that made the release.")
    run: str = Field(pattern="^[0-9a-f]{32}$", description="A random name of the run, the same in its ledger.")
    private: bool = Field(description="False for a research run, which promises nothing.")
    notice: str = Field(description="Empty, or why the release must not be treated as private.")
    mechanism: MechanismEntry
    privacy: PrivacyEntry
    workload: WorkloadEntry
    table: TableEntry
    model: ModelEntry
    rounds: list[RoundEntry] = Field(description="Every round in order; empty where the mechanism has none.")
    charges: list[ChargeEntry] = Field(description="Everything that was spent, in order, rounds included.")
    confidence: Finite = Field(gt=0, lt=1, description="Each bound holds with this probability, by itself.")
    bounds: list[BoundEntry] = Field(description="Of all marginals that there is a bound for; of very many, of a part.")
    check: CheckEntry | None = Field(default=None, description="Null where no budget was kept for a check.")
    inside: list[InsideEntry] = Field(
        default=[], description="Columns whose values are drawn by finer bins; inside the bins of others, evenly."
    )
    sums: list[SumEntry] = Field(
        default=[], description="Columns of which a sum was asked for, since their means gain by it most."
    )
    opened: list[OpenedEntry] = Field(default=[], description="Columns whose values the run has learnt.")
    ledger: LedgerReference | None = Field(default=None, description="Where the spend is counted; null where in no ledger.")
    public: PublicEntry | None = Field(default=None, description="Null where the run was given no public table.")
    asked: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{32}$",
        description="A hash of all settings of the run, which are public: a resumed run knows its finished release by it.",
    )
    declaration: dict[str, Any] = Field(description="The schema: what the table may contain, as declared.")

    def workload_marginals(self) -> int:
        """Return how many marginals the workload has; those that a rule says are queries, one each."""
        listed = self.workload.marginals
        return self.workload.queries if listed is None else len({tuple(query.attributes) for query in listed})

    def workload_bounds(self) -> list[BoundEntry]:
        """Return the bounds of the workload's own marginals, as opposed to parts of these."""
        rule = self.workload.rule
        if rule is not None:
            return [b for b in self.bounds if len(b.columns) == rule.size and rule.column in (None, *b.columns)]
        own = {tuple(query.attributes) for query in self.workload.marginals or ()}
        return [b for b in self.bounds if tuple(b.columns) in own]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``release.json``; the same is published as ``release.schema.json`` beside this file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Manifest.model_json_schema()}

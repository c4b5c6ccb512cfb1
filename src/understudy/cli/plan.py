"""``understudy plan``: what to expect, before any data is touched. Public: opens the schema file alone."""

from __future__ import annotations

from typing import Any

import click

from understudy.cli.options import as_json, budget, print_json, warnings_told
from understudy.manifest.promise import errors_listed, rounded_up
from understudy.mechanism import DEFAULT
from understudy.mechanism.choosing import FORECASTS
from understudy.mechanism.memory import memory_left, resident
from understudy.planning import Plan
from understudy.planning import plan as make_plan
from understudy.quantities import parse_size, show_size, show_time

WORTH_TELLING = 5.0
"""Seconds that the table takes after the rounds, from which on they are told."""


@click.command(
    epilog="""\b
Examples:
  understudy plan --schema visits.toml --rows 50000 --epsilon 1
  understudy plan -s visits.toml --rows 50000 -e 0.1 -w all-2way --no-rehearsal
  understudy plan -s visits.toml --rows 50000 --persons 12000 -e 1

\b
Exit status: 0 done; 2 wrong usage or input; 3 a fault of this software; 130 interrupted."""
)
@click.option("-s", "--schema", "schema_path", required=True, help="The schema file, reviewed or not.")
@click.option("--rows", type=click.IntRange(min=1), required=True, help="About how many rows the table has; a public guess.")
@click.option(
    "--persons",
    type=click.IntRange(min=1),
    help="Where the schema limits the rows of each: about how many persons there are.  [default: all rows are used]",
)
@budget
@click.option("--time-limit", metavar="TIME", default="20s", show_default=True, help="Of the rehearsal.")
@click.option(
    "--mechanism",
    type=click.Choice([DEFAULT, *FORECASTS]),
    default=DEFAULT,
    show_default=True,
    help="As of synthesize; auto: the one with the least error forecast.",
)
@click.option(
    "--rehearsal/--no-rehearsal", "rehearse", default=None, help="Run on made-up rows.  [default: if it takes seconds]"
)
@as_json
def plan(schema_path: str, memory: str | None, json_: bool, **settings: Any) -> None:
    """Say how accurate, how long and how large a run may be. Opens no data.

    Arithmetic gives the noise, a model of cost time and memory. A rehearsal on a made-up table of the same schema gives
    time, size and an error.
    """
    with warnings_told():
        found = make_plan(schema_path, memory=memory, progress=None, **settings)
    if json_:
        print_json(found.describe())
    else:
        click.echo(
            "\n".join(
                [*_arithmetic(found), *_columns(found), *_forecast(found, memory), *_errors(found), *_rehearsal(found)]
            )
        )


def _arithmetic(plan: Plan) -> list[str]:
    return [
        "From the settings alone:",
        f"  budget            epsilon = {rounded_up(plan.epsilon)}, delta = {rounded_up(plan.delta)}, "
        f"rho = {rounded_up(plan.rho)}",
        f"  workload          {plan.queries:,} queries, {plan.marginals:,} marginals to choose from",
        _mechanism(plan),
        f"  first noise       a standard deviation of {plan.sigma_first:,.1f} rows on each cell, "
        f"{plan.sigma_first / plan.rows_used:.2%} of {plan.rows_used:,}",
        f"  least noise       {plan.sigma_single:,.1f} rows, if all of the budget went into one marginal",
        *_persons(plan),
        *_opened(plan),
        *(
            [f"  rounds            at most {plan.most_rounds}; fewer where the table has strong patterns"]
            * bool(plan.most_rounds)
        ),
        f"  model             {_sizes(plan)}",
    ]


def _sizes(plan: Plan) -> str:
    least, most = show_size(plan.least_size), show_size(plan.max_size)
    return most if least == most else f"between {least} and {most}"


def _mechanism(plan: Plan) -> str:
    why = " (the least error forecast, below)" if plan.forecasts else ""
    return f"  mechanism         {plan.mechanism}{why}"


def _forecast(plan: Plan, memory: str | None) -> list[str]:
    return [
        "From a model of what a run costs:",
        f"  time              about {show_time(max(plan.seconds, 1.0))} of a core that is idle, and reading the table; "
        "half or twice that may come",
        *_unlimited(plan),
        f"  memory            about {show_size(plan.typical_memory)} at the peak; up to {show_size(plan.memory)}, "
        f"if the model grows to its limit{_too_much(plan, memory)}",
    ]


def _unlimited(plan: Plan) -> list[str]:
    """Say what no time limit shortens, where that is worth a line."""
    if plan.table_seconds < WORTH_TELLING:
        return []
    needed = show_time(plan.table_seconds)
    return [f"  of it             about {needed} for the table after the rounds, which no time limit shortens"]


def _errors(plan: Plan) -> list[str]:
    if not plan.forecasts:
        return []
    listed = errors_listed(plan.forecasts)
    cells = (
        ["  of cells          the workload asks for sums, whose error is smaller: the rehearsal has it"] if plan.sums else []
    )
    return [
        "From how columns depend on each other in other tables:",
        f"  workload error    {listed} (0 is perfect, 2 is nothing right); half or twice that may come",
        *cells,
    ]


def _too_much(plan: Plan, memory: str | None) -> str:
    left = memory_left(None if memory is None else parse_size(memory))
    if left is None or plan.memory <= left + resident():
        return ""
    return f".\n{'':20}That is more than the {show_size(left + resident())} that there are: refused"


def _persons(plan: Plan) -> list[str]:
    """Say what another number of rows of each person would cost: noise is in proportion to it."""
    rows = plan.rows_per_person
    if rows is None:
        return []
    others = sorted({1, max(1, rows // 2), 2 * rows} - {rows})
    listed = "; ".join(f"{k:,} row{'s' * (k > 1)}: {plan.sigma_first * k / rows:,.1f}" for k in others)
    return [
        f"  rows a person     {rows:,} of each at most; the same noise with {listed}",
        f"  rows used         {_used(plan, rows)}",
    ]


def _used(plan: Plan, most: int) -> str:
    """Say which rows the plan takes as used, and what it takes for granted in this."""
    if plan.persons is None:
        limit = f"{most:,} row{'s' * (most > 1)}"
        return f"all {plan.rows:,}, as if nobody had more than {limit}; --persons says how many persons there are"
    if plan.persons == plan.rows:
        return f"all {plan.rows:,}: nobody has more than one"
    at_most = min(plan.rows, most * plan.persons)
    if most == 1:
        return f"{plan.rows_used:,} of {plan.rows:,}: one of each person"
    return (
        f"about {plan.rows_used:,} of {plan.rows:,}, where {plan.persons:,} persons have unlike numbers of rows; "
        f"at most {at_most:,}"
    )


def _opened(plan: Plan) -> list[str]:
    """Say which texts a run will find in open columns."""
    return [
        f"  open column       {one.name}: texts that about {one.threshold:,} rows have, for a tenth of the budget "
        f"{'in all ' * (len(plan.opened) > 1)}(planned with {one.values} values)"
        for one in plan.opened
    ]


def _columns(plan: Plan) -> list[str]:
    worst = sorted(plan.columns, key=lambda c: -c.noise)[:3]
    listed = ", ".join(f"{c.name} ({c.codes} codes) {c.noise / 2:.1%}" for c in worst)  # a misplaced row counts twice in L1
    return [f"  noisiest columns  {listed} of the rows misplaced by the first measurement"]


def _rehearsal(plan: Plan) -> list[str]:
    done = plan.rehearsal
    if done is None:
        return [f"No rehearsal was made: {plan.unrehearsed} (--rehearsal makes one)."]
    cut = "; cut short by the time limit, so a full run takes longer and does better" if done.ended == "time" else ""
    return [
        f"From a rehearsal on {done.rows:,} made-up rows of the same schema{cut}:",
        f"  time              {show_time(done.seconds)} on this machine",
        *([f"  rounds            {done.rounds}"] * bool(plan.most_rounds)),
        f"  model             {show_size(done.size)}",
        f"  workload error    {done.error:.3f} (0 is perfect, 2 is nothing right)",
        "The made-up table has strong, hidden patterns. Yours has others: its error may be a few times smaller or larger.",
    ]

"""The privacy card: the promise of a release in words, with the fields that public registries of deployments ask for.

Public: it is written from the record and the schema alone.
"""

from __future__ import annotations

from math import exp, expm1

from understudy.release.record import Record
from understudy.schema import Schema

UNITS = {
    "add_remove": (
        "one row of the table, present or absent",
        "whether any one row was in the table at all, and everything that row says. The number of rows is protected too",
    ),
    "replace": (
        "the content of one row of the table",
        "everything that any one row says. The number of rows is treated as known and is not protected",
    ),
}


def privacy_card(record: Record, schema: Schema) -> str:
    """Return the card as Markdown."""
    parts = [_title(record, schema), _promise(record), _assumptions(record), _facts(record, schema), _spending(record)]
    return "\n\n".join(parts) + "\n"


def _title(record: Record, schema: Schema) -> str:
    name = schema.table.name or "a table"
    lines = [f"# Privacy card: synthetic stand-in for {name}"]
    if not record.private:
        lines += [
            "",
            f"> **{record.notice}**",
            ">",
            "> Nothing below is a promise. It describes what the same run would promise with the secure generator.",
        ]
    return "\n".join(lines)


def _promise(record: Record) -> str:
    epsilon, delta = record.privacy.epsilon, record.privacy.delta
    _, protected = UNITS[record.privacy.unit]
    factor = exp(epsilon) if epsilon < 50 else float("inf")
    otherwise = "absent" if record.privacy.unit == "add_remove" else "different"
    return f"""## What is promised, and to whom

To everybody described by a row of the private table: this release protects {protected}.

Take anybody who sees this release, with whatever else they may know and whatever computers they may have, now or later.
Nothing that they conclude from it would have been more than {factor:,.3g} times as likely, or as unlikely, had one row
been {otherwise}, except with a probability of at most {delta:g}. Someone who thought beforehand that a given row was as
likely to be in the table as not can be at most {_posterior(epsilon):.1%} sure after seeing the release (again except
with probability {delta:g}).

The promise holds for the whole folder together: the synthetic table, the model, the noisy measurements, the bounds and
the report. Drawing more rows or asking more questions of the model weakens nothing. Other releases from the same private
table add up: whoever publishes several must add their budgets."""


def _posterior(epsilon: float) -> float:
    """Return e^ε / (1 + e^ε), safely: the largest belief from even odds."""
    return 1 / (2 + expm1(-epsilon))


def _assumptions(record: Record) -> str:
    rows = "add or remove" if record.privacy.unit == "add_remove" else "replace"
    timed = " A time limit ended this run, so its number of rounds depends on how long it took." * (
        record.mechanism.ended == "time"
    )
    return f"""## Under which assumptions

1. A person is one row. Where a person has several rows, the promise is for each row, and is weaker for the person: for
   k rows, rho is to be read k² times as large, which makes epsilon about k times as large.
2. The schema was written or reviewed without disclosing anything about the rows. It is part of this release and is not
   protected.
3. The names and types of the table's columns, the workload, epsilon, delta and all settings are public.
4. How long the run took, how much memory it used, and whether it ended with an error were seen by nobody but the
   table's owner. No times are in this folder.{timed}
5. Neighbouring tables {rows} one row, whatever its values: values outside the schema are counted where the schema says,
   and no row is dropped."""


def _facts(record: Record, schema: Schema) -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in (_guarantee(record, schema) | _making(record)).items())
    return f"## The facts\n\n| | |\n|---|---|\n{rows}"


def _guarantee(record: Record, schema: Schema) -> dict[str, str]:
    privacy, columns = record.privacy, len(schema.columns)
    rows = ", the number of rows" if privacy.unit == "replace" else ""
    return {
        "Flavour of privacy": f"(epsilon, delta) differential privacy, epsilon = {privacy.epsilon:g}, "
        f"delta = {privacy.delta:g}; accounted as zero-concentrated differential privacy (zCDP), "
        f"rho = {privacy.rho.value:.6g}",
        "Model of trust": "central: the owner of the table runs the software on the rows themselves",
        "Unit of privacy": UNITS[privacy.unit][0],
        "Neighbouring": "unbounded (add or remove)" if privacy.unit == "add_remove" else "bounded (replace)",
        "Domain": f"{columns} declared columns, {_cells(schema.domain.cells())} possible rows; declared in schema.toml, "
        "not read from rows",
        "Unprotected quantities": f"the schema and the settings{rows}",
    }


def _making(record: Record) -> dict[str, str]:
    privacy, table, rounds = record.privacy, record.table, len(record.rounds)
    return {
        "Mechanism": f"{record.mechanism.name}: {rounds} private choice{'s' * (rounds != 1)} by the exponential mechanism, "
        f"{record.model.measured} noisy marginals ({_noise(record)}), then a graphical model fitted to these"
        f"{_checked(record)}",
        "Accounting": "every charge is an exact fraction, accepted by a filter before the rows are read; "
        f"{privacy.spent.value:.6g} of {privacy.rho.value:.6g} was spent in {len(record.charges)} charges",
        "Conversion": "zCDP to (epsilon, delta), rounded so that the true guarantee is at least as strong as stated",
        "Randomness": "the operating system's secure generator" if record.private else "a seeded generator: NOT PRIVATE",
        "Post-processing": "model, synthetic table, bounds and report are computed from the noisy numbers alone",
        "Synthetic rows": f"{table.rows:,}; noisy numbers put the private table's own rows at {table.total:,.0f}",
        "Accuracy": f"{len(record.bounds):,} marginals have a bound on their error, each at {record.confidence:.0%}; "
        "they are in release.json",
        "Implementation": f"understudy {record.understudy}, noise and private choice drawn by OpenDP in integer arithmetic",
        "Run": record.run,
    }


def _checked(record: Record) -> str:
    if record.check is None:
        return ""
    return f", then {len(record.check.marginals):,} noisy distances of the model from the table, which bounds rest on"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _noise(record: Record) -> str:
    kinds = sorted({r.noise for r in record.rounds}) or ["gaussian"]
    return " and ".join(f"discrete {kind.capitalize()} noise" for kind in kinds)


def _cells(cells: int) -> str:
    return f"{cells:,}" if cells < 10**9 else f"about 10^{len(str(cells)) - 1}"


def _spending(record: Record) -> str:
    rho = record.privacy.rho.fraction
    rows = "\n".join(
        f"| {number} | {_cell(charge.purpose)} | {charge.rho.value:.4g} | {float(charge.rho.fraction / rho):.2%} |"
        for number, charge in enumerate(record.charges, start=1)
    )
    return f"## What the budget was spent on\n\n| | for | rho | share |\n|--:|---|--:|--:|\n{rows}"

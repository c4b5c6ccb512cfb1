"""``understudy ledger``: what may be spent on each table, what was, and whether the record is whole. All of it is public."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from understudy.cli.options import FILE, as_json, print_json
from understudy.ledger import Dataset, Ledger, Run
from understudy.ledger.store import reading
from understudy.privacy import Budget
from understudy.privacy.amounts import amount_text
from understudy.privacy.cost import show as digits
from understudy.request import budget_of

LEDGER = click.argument("file", type=FILE)


def _epilog(*examples: str, status: str = "0 done; 2 wrong usage or input.") -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples) + f"\n\n\b\nExit status: {status}"


def _capping(function: Any) -> Any:
    for option in (
        click.option("--rho", type=float, help="The cap in zCDP, instead of epsilon and delta."),
        click.option("--delta", type=float, help="The chance that the promise fails.  [default: 1e-9]"),
        click.option("-e", "--epsilon", type=float, help="The cap: what all releases of the table may disclose together."),
        click.option("--dataset", metavar="NAME", required=True, help="The table's name, as you choose it."),
    ):
        function = option(function)
    return as_json(LEDGER(function))


@click.group()
def ledger() -> None:
    """Keep account of what is spent on each table, in one file that shows tampering."""


@ledger.command(
    epilog=_epilog(
        "understudy ledger init budget.ledger --dataset visits --epsilon 4",
        "understudy ledger init budget.ledger --dataset patients --rho 0.5",
    )
)
@_capping
def init(*, file: Path, dataset: str, json_: bool, **cap: float | None) -> None:
    """Make the ledger FILE, or add a dataset to it, with a cap on all that will ever be spent on it."""
    budget = _budget(**cap)
    _tell(Ledger.create(file).declare(dataset, budget, delta=_reported(**cap)), json_)


@ledger.command(epilog=_epilog("understudy ledger cap budget.ledger --dataset visits --epsilon 6"))
@_capping
def cap(*, file: Path, dataset: str, json_: bool, **cap: float | None) -> None:
    """Set another cap for a dataset. It leaves a line, and cannot lie below what was spent."""
    _tell(Ledger(file).cap(dataset, _budget(**cap), delta=_reported(**cap)), json_)


@ledger.command(epilog=_epilog("understudy ledger show budget.ledger", "understudy ledger show budget.ledger --json"))
@LEDGER
@as_json
def show(*, file: Path, json_: bool) -> None:
    """Print what each dataset may spend, has spent, and has left, with its runs.

    Amounts are in zCDP (rho), where they add up, and as epsilon at the dataset's delta. Note the head elsewhere:
    understudy ledger verify --head compares with it.
    """
    book = Ledger(file)
    head, datasets = book.head(), book.state().datasets
    if json_:
        print_json({"head": head, "datasets": [describe(dataset) for dataset in datasets]})
        return
    click.echo(f"head {head}")
    for dataset in datasets:
        click.echo("\n" + "\n".join(lines(dataset)))


@ledger.command(
    epilog=_epilog(
        "understudy ledger verify budget.ledger",
        "understudy ledger verify budget.ledger --head 9f2c…",
        status="0 sound; 1 something is wrong; 2 wrong usage or input.",
    )
)
@LEDGER
@click.option("--head", metavar="HASH", help="A head that was noted elsewhere: is its line still in this ledger?")
@as_json
def verify(*, file: Path, head: str | None, json_: bool) -> None:
    """Check the file, the chain of hashes, every content, and that no line contradicts those before it.

    That the whole file was replaced by an older copy shows only with --head: every release has one in its release.json.
    """
    found = Ledger(file).verify(head)
    if json_:
        print_json({"sound": found.sound, **asdict(found)})
    elif found.sound:
        since = "" if found.since is None else f"; {found.since} lines since the head that was noted"
        click.echo(f"Sound: {found.lines} lines{since}.\nhead {found.head}")
    else:
        click.echo("NOT SOUND:\n" + "\n".join(f"  {problem}" for problem in found.problems))
    if not found.sound:
        raise SystemExit(1)


@ledger.command(
    epilog=_epilog("understudy ledger export budget.ledger -o spends.csv", "understudy ledger export budget.ledger --json")
)
@LEDGER
@click.option("-o", "--out", type=FILE, help="The file to write.  [default: print]")
@as_json
def export(*, file: Path, out: Path | None, json_: bool) -> None:
    """Write every line of the ledger as CSV, or as JSON with --json or where the file is named so."""
    with reading(file) as book:
        entries = [asdict(entry) for entry in book.entries()]
    if json_ or (out is not None and out.suffix == ".json"):
        import json

        text = json.dumps(entries, indent=1, ensure_ascii=False) + "\n"
    else:
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(entries[0]) if entries else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(entries)
        text = stream.getvalue()
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")


def _budget(epsilon: float | None, delta: float | None, rho: float | None) -> Budget:
    return budget_of(epsilon, None, rho) if rho is not None else budget_of(epsilon, delta, None)


def _reported(epsilon: float | None, delta: float | None, rho: float | None) -> float | None:
    return None if rho is None else delta


def _tell(dataset: Dataset, json_: bool) -> None:
    if json_:
        print_json(describe(dataset))
    else:
        click.echo("\n".join(lines(dataset)))


def _amount(dataset: Dataset, rho: Fraction | None) -> dict[str, Any] | None:
    return None if rho is None else {"rho": float(rho), "exact": amount_text(rho), "epsilon": dataset.epsilon_of(rho)}


def describe(dataset: Dataset) -> dict[str, Any]:
    """Return a dataset as plain data."""
    amounts = {"cap": dataset.cap_now, "spent": dataset.spent, "reserved": dataset.reserved, "left": dataset.left}
    return {
        "dataset": dataset.name,
        "delta": dataset.delta,
        "delta_beside": float(dataset.delta_beside),
        "unit": None if dataset.unit is None else dataset.unit.value,
        **{name: _amount(dataset, rho) for name, rho in amounts.items()},
        "runs": [_described(dataset, run) for run in dataset.runs],
    }


def _described(dataset: Dataset, run: Run) -> dict[str, Any]:
    return {
        "run": run.name,
        "began": run.began,
        "state": run.state,
        "private": run.private,
        "resumed": run.resumed,
        "budget": _amount(dataset, run.budget),
        "counts": _amount(dataset, run.counts),
        "charges": [{"purpose": charge.purpose, "rho": amount_text(charge.rho)} for charge in run.charges],
    }


STATES = {"running": "running, or killed: its whole budget counts", "stopped": "stopped", "finished": "finished"}


def lines(dataset: Dataset) -> list[str]:
    """Say where a dataset stands."""
    amounts = [("cap", dataset.cap_now), ("spent", dataset.spent), ("reserved", dataset.reserved), ("left", dataset.left)]
    found = [f"{dataset.name}  (epsilon at delta = {dataset.delta:g})"]
    for name, rho in amounts:
        if rho is None:
            found.append(f"  {name:<9} no limit" if name == "cap" else "")
        else:
            found.append(f"  {name:<9} rho = {digits(rho):<12} epsilon = {dataset.epsilon_of(rho):.4g}")
    if dataset.delta_beside:
        found.append(
            f"  texts     {float(dataset.delta_beside):.3g} of delta, for learnt texts: an epsilon is less rho at the rest"
        )
    if dataset.unit is not None:
        found.append(f"  protects  {dataset.unit.protects}")
    for run in dataset.runs:
        mark = "" if run.private else "  NOT PRIVATE"
        counts = f"rho = {digits(run.counts):<12} epsilon = {dataset.epsilon_of(run.counts):.4g}"
        found.append(f"  run {run.name[:8]}  {run.began[:16].replace('T', ' ')}  {counts}  {STATES[run.state]}{mark}")
    return [line for line in found if line]

"""The privacy card: the promise of a release in words, with the fields that public registries of deployments ask for.

Public: it is written from the manifest and the schema alone.
"""

from __future__ import annotations

from math import fsum
from textwrap import fill

from understudy.manifest.manifest import Manifest
from understudy.manifest.promise import (
    assumptions,
    chosen_words,
    confidence,
    opened_words,
    parameters,
    public_words,
    rounded_up,
    sentences,
    total_words,
    unit_words,
)
from understudy.manifest.purposes import purposes_told
from understudy.schema import Schema

WIDTH = 120
"""Letters of a line of running text."""


def privacy_card(manifest: Manifest, schema: Schema) -> str:
    """Return the card as Markdown."""
    parts = [
        _title(manifest, schema),
        _promise(manifest),
        _assumptions(manifest),
        _facts(manifest, schema),
        _spending(manifest),
    ]
    return "\n\n".join(parts) + "\n"


def _title(manifest: Manifest, schema: Schema) -> str:
    name = schema.table.name or "a table"
    lines = [f"# Privacy card: synthetic stand-in for {name}"]
    if not manifest.private:
        lines += [
            "",
            f"> **{manifest.notice}**",
            ">",
            "> Nothing below is a promise. It describes what the same run would promise with the secure generator.",
        ]
    return "\n".join(lines)


def _promise(manifest: Manifest) -> str:
    person = manifest.privacy.person
    whom = (
        "everybody described by a row of the private table"
        if person is None
        else f'every person in the private table, each told from others by "{person}"'
    )
    paragraphs = [f"This is promised to {whom}.", *sentences(manifest)]
    return "\n\n".join(["## What is promised, and to whom", *(fill(text, WIDTH) for text in paragraphs)])


def _assumptions(manifest: Manifest) -> str:
    numbered = enumerate(assumptions(manifest), start=1)
    listed = [fill(f"{number}. {text}", WIDTH, subsequent_indent="   ") for number, text in numbered]
    return "\n".join(["## Under which assumptions", "", *listed])


def _facts(manifest: Manifest, schema: Schema) -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in (_guarantee(manifest, schema) | _making(manifest)).items())
    return f"## The facts\n\n| | |\n|---|---|\n{rows}"


def _guarantee(manifest: Manifest, schema: Schema) -> dict[str, str]:
    privacy, follows = manifest.privacy, {column.name for column in schema.derived}
    columns = sum(column.name not in follows for column in schema.columns)  # some that follow are modelled too
    known = "the number of rows" if privacy.person is None else "how many persons there are, and how many rows of each"
    rows = f", {known}" if privacy.unit == "replace" else ""
    return {
        "Flavour of privacy": "(epsilon, delta) differential privacy, by way of zero-concentrated differential privacy "
        f"(zCDP): {parameters(privacy)}",
        "Model of trust": "central: the owner of the table runs the software on the rows themselves",
        "Unit of privacy": _cell(unit_words(privacy)),
        "Neighbouring": "unbounded (add or remove)" if privacy.unit == "add_remove" else "bounded (replace)",
        "Domain": f"{columns} declared columns{_derived(schema)}, {_cells(schema.domain.cells())} possible rows; "
        f"{_origin(schema)}{_opened(manifest)}",
        "Unprotected quantities": f"the schema and the settings{rows}",
    }


def _origin(schema: Schema) -> str:
    learnt = schema.table.learnt
    if learnt is None:
        return "declared in schema.toml, not read from rows"
    return f"learnt under a budget of its own, epsilon = {rounded_up(learnt.epsilon)}, which adds to this one"


def _opened(manifest: Manifest) -> str:
    words = opened_words(manifest)
    return f"; {_cell(words)}" if words else ""


def _derived(schema: Schema) -> str:
    number = len(schema.derived)
    return f" (and {number} that follow{'s' if number == 1 else ''} from them)" if number else ""


def _making(manifest: Manifest) -> dict[str, str]:
    privacy, table = manifest.privacy, manifest.table
    choices = sum(_drawn(charge.purpose) for charge in manifest.charges)
    which = "own rows" if privacy.person is None else "rows that were used"
    return {
        "Mechanism": f"{manifest.mechanism.name}{_chosen(manifest)}: {choices} private choice{'s' * (choices != 1)} by the "
        f"exponential mechanism, {manifest.model.measured} noisy answers ({_noise(manifest)}), then a "
        f"{manifest.model.kind} fitted to these{_checked(manifest)}",
        "Values inside bins": _inside(manifest),
        **({} if manifest.public is None else {"Public data": public_words(manifest.public)}),
        "Accounting": "every charge is an exact fraction, accepted by a filter before the rows are read; "
        f"{rounded_up(privacy.spent.value)} of {rounded_up(privacy.rho.value)} was spent in {len(manifest.charges)} charges"
        f"{_beside(manifest)}",
        "Conversion": "zCDP to (epsilon, delta), rounded so that the true guarantee is at least as strong as stated",
        "Randomness": "the operating system's secure generator" if manifest.private else "a seeded generator: NOT PRIVATE",
        "Post-processing": "model, synthetic table, bounds and report are computed from the noisy numbers"
        f"{_besides(manifest)} alone",
        "Synthetic rows": f"{table.rows:,}; the private table's {which}, by noisy numbers: {total_words(manifest)}",
        "Accuracy": f"{len(manifest.bounds):,} marginals have a bound on their error, each at "
        f"{confidence(manifest.confidence)}; they are in release.json",
        "Implementation": f"understudy {manifest.understudy}, noise and private choice drawn by OpenDP in integer "
        "arithmetic",
        "Run": manifest.run,
    }


def _beside(manifest: Manifest) -> str:
    texts = fsum(one.delta for one in manifest.opened)
    return f"; of delta, {rounded_up(texts)} is for texts of open columns, and rho stands for the rest" if texts else ""


def _drawn(purpose: str) -> int:
    """Return how many choices a charge paid for, by its purpose: ``select one of 12 marginals``, ``select 4 of 90``."""
    what, _, rest = purpose.partition(" ")
    number = rest.partition(" ")[0]
    return (int(number) if number.isdecimal() else 1) if what == "select" else 0


def _chosen(manifest: Manifest) -> str:
    words = chosen_words(manifest.mechanism)
    return f" (chosen from public facts alone, before the table was opened, {_cell(words)})" if words else ""


def _besides(manifest: Manifest) -> str:
    return "" if manifest.public is None else " and the public data"


def _checked(manifest: Manifest) -> str:
    if manifest.check is None:
        return ""
    return f", then {len(manifest.check.marginals):,} noisy distances of the model from the table, which bounds rest on"


def _inside(manifest: Manifest) -> str:
    if not manifest.inside:
        return "drawn evenly"
    names = ", ".join(dict.fromkeys(entry.column for entry in manifest.inside if entry.above is None))
    gaps = ", ".join(f"{entry.column} above {entry.above}" for entry in manifest.inside if entry.above is not None)
    added = ", ".join(entry.column for entry in manifest.sums)
    finer = f"noisy counts of finer bins inside the bins of {names}" if names else ""
    apart = f"noisy counts of how far {gaps} lies" if gaps else ""
    sums = f"noisy sums of {added}" if added else ""
    return f"drawn by {_cell(' and '.join(filter(None, (finer, apart, sums))))} (in inside/); of other columns evenly"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _noise(manifest: Manifest) -> str:
    return f"discrete {str(manifest.mechanism.options.get('noise', 'gaussian')).capitalize()} noise"


def _cells(cells: int) -> str:
    return f"{cells:,}" if cells < 10**9 else f"about 10^{len(str(cells)) - 1}"


def _spending(manifest: Manifest) -> str:
    rho = manifest.privacy.rho.fraction
    told = purposes_told([charge.purpose for charge in manifest.charges])
    rows = "\n".join(
        f"| {number} | {_cell(purpose)} | {charge.rho.value:.4g} | {float(charge.rho.fraction / rho):.2%} |"
        for number, (charge, purpose) in enumerate(zip(manifest.charges, told, strict=True), start=1)
    )
    return f"## What the budget was spent on\n\n| | for | rho | share |\n|--:|---|--:|--:|\n{rows}"

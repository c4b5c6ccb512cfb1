"""A release whose model is a mixture of products: saved, loaded, asked, drawn from and reported like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import understudy
from release_tables import quick, table
from understudy.cli import main
from understudy.errors import UserError
from understudy.manifest.card import privacy_card
from understudy.model import Mixture
from understudy.release import Release
from understudy.schema import parse_schema

pytestmark = pytest.mark.fitted


@pytest.fixture(scope="module")
def release() -> Release:
    return quick(table(), mechanism="rap", workload="all-2way", epsilon=3)


def test_it_is_saved_and_loaded(release: Release, tmp_path: Path) -> None:
    again = understudy.load(release.save(tmp_path / "r"))
    assert isinstance(again.model, Mixture)
    assert again.manifest == release.manifest
    assert again.manifest.model.components == again.model.weights.size
    np.testing.assert_array_equal(again.marginal("sex", "age").counts, release.marginal("sex", "age").counts)
    one, two = (r.sample(9, {"sex": "M"}, rng=np.random.default_rng(3)) for r in (again, release))
    assert one.equals(two)
    assert one.column("sex").to_pylist() == ["M"] * 9
    card = (tmp_path / "r" / "privacy-card.md").read_text()
    sums = sum(m.query is not None for m in again.measurements)
    assert f"rap: 20 private choices by the exponential mechanism, {21 + sums} noisy answers" in card
    assert "then a mixture of 1,000 products fitted to these" in card
    assert "Strongest ties" in (tmp_path / "r" / "report.html").read_text()


@pytest.mark.promise(17)
def test_several_choices_in_one_charge_are_counted_as_several(release: Release) -> None:
    first, *others = [charge for charge in release.manifest.charges if charge.purpose.startswith("select ")]
    several = first.model_copy(update={"purpose": "select 5 of 30 marginals, epsilon = 0.1 each"})
    card = privacy_card(release.manifest.model_copy(update={"charges": [several, *others[:2]]}), release.schema)
    assert "rap: 7 private choices by the exponential mechanism" in card


def test_it_says_what_its_model_is(release: Release) -> None:
    assert "mixture of 1,000 products" in repr(release)
    assert "rounds" not in repr(release)


@pytest.mark.parametrize("query", ["sex", "mean(age) by sex"])
def test_a_query_says_why_it_has_no_bootstrap_intervals(release: Release, tmp_path: Path, query: str) -> None:
    folder = str(release.save(tmp_path / "r"))
    said = CliRunner().invoke(main, ["query", folder, query])
    assert said.exit_code == 0
    assert "There are no bootstrap intervals: this model is not a graphical one" in said.output


def test_every_marginal_of_the_workload_has_a_bound(release: Release) -> None:
    """By a measurement that holds it, or by the check of the finished model."""
    assert set(release.workload.cliques) <= set(release.bounds)
    assert any(bound.checked for bound in release.bounds.values())


def test_samples_of_any_length_tell_models_apart(release: Release, tmp_path: Path) -> None:
    release.sample_to(tmp_path / "s", 50, seed=1, workers=1)
    other = quick(table(), mechanism="rap", workload="all-2way", epsilon=3, seed=9)
    with pytest.raises(UserError, match="a sample of another release"):
        other.sample_to(tmp_path / "s", 50, seed=1, workers=1)


def test_impossible_combinations_are_refused_before_anything_is_read() -> None:
    column = 'kind = "categorical"\nvalues = ["x", "y"]\nother = "x"\n'
    never = '[[zeros]]\nnever = \'a = "x" and b = "y"\'\n'
    declared = parse_schema(f"[columns.a]\n{column}[columns.b]\n{column}{never}")
    with pytest.raises(UserError, match="cannot keep combinations impossible") as refused:
        understudy.synthesize({"a": ["x"] * 9, "b": ["x"] * 9}, declared, epsilon=1, mechanism="rap", workload="all-2way")
    assert refused.value.spent.rho == 0  # type: ignore[attr-defined]

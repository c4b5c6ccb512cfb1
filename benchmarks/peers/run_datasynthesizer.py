"""DataSynthesizer's PrivBayes and independent columns on one cell, in .venv-datasynthesizer (see cell.py for arguments).

A public benchmark table goes in, through the library's describer, and its synthetic table comes out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from cell import Cell, Made, Progress, main
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

NOTES = [
    "pure ε: it has no δ; noise is Laplace noise, in floating point; rows generated: exactly those of the table",
    "the domain is given as a file of categories; code that no row has is left out of its conditional tables",
]
BAYES_NOTES = [
    "PrivBayes as in its paper, without a graphical model: conditional tables are sampled one after another",
    "parents of an attribute given: two (privbayes), so that families have as many attributes as the workload's marginals, "
    "or one (-pairs); left to itself it would take three",
    "the columns get ε and the network ε once more: it spends twice what it is given; the number of rows is taken as known",
]


def synthesise(cell: Cell, progress: Progress) -> Made:
    describer, generator = DataDescriber(category_threshold=max(cell.domain.values())), DataGenerator()
    with tempfile.TemporaryDirectory() as made:
        table, domain, described = (str(Path(made) / name) for name in ("table.csv", "domain.json", "described.json"))
        pd.DataFrame(cell.columns()).to_csv(table, index=False)
        Path(domain).write_text(json.dumps({name: list(range(size)) for name, size in cell.domain.items()}))
        given = {
            "epsilon": cell.epsilon,
            "attribute_to_is_categorical": dict.fromkeys(cell.domain, True),
            "attribute_to_is_candidate_key": dict.fromkeys(cell.domain, False),
            "categorical_attribute_domain_file": domain,
            "seed": cell.seed,
        }
        if cell.mechanism == "independent":
            describer.describe_dataset_in_independent_attribute_mode(table, **given)
            describer.save_dataset_description_to_file(described)
            generator.generate_dataset_in_independent_mode(len(cell.codes), described, seed=cell.seed)
        else:
            parents = 1 if cell.mechanism.endswith("-pairs") else cell.degree - 1
            describer.describe_dataset_in_correlated_attribute_mode(table, k=parents, **given)
            describer.save_dataset_description_to_file(described)
            generator.generate_dataset_in_correlated_attribute_mode(len(cell.codes), described, seed=cell.seed)
    codes = generator.synthetic_dataset[list(cell.domain)].to_numpy().astype(np.int64)
    return Made(codes, NOTES + ([] if cell.mechanism == "independent" else BAYES_NOTES))


if __name__ == "__main__":
    sys.exit(main("datasynthesizer", ["privbayes", "privbayes-pairs", "independent"], synthesise))

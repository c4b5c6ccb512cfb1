"""Models of public numbers: graphical ones with junction trees, mixtures, and regions. Inference, estimation, generation.

Never sees private counts.
"""

from understudy.domain import Zeros
from understudy.model.consistency import CLOSER as CLOSER_REGIONS
from understudy.model.consistency import fit_regions
from understudy.model.correlated import along
from understudy.model.distance import Distance, rounding_distance
from understudy.model.engine import ENGINES, NUMPY, Device, Engine, EngineFor, engine_on, make_engine, on_cpu
from understudy.model.estimation import Fit, fit
from understudy.model.generator import train
from understudy.model.graphical import GraphicalModel
from understudy.model.mixture import Mixture
from understudy.model.model import Model
from understudy.model.observation import MatrixQuery, Observation, Query, combine, estimate_total, total_stddev
from understudy.model.problem import shrinkage as shrinkage_of
from understudy.model.regions import RegionModel, regions_size
from understudy.model.relaxation import relax, relaxed_size
from understudy.model.shrinkage import kept_of, shrunk
from understudy.model.solvers import CLOSER, Dual, MirrorDescent, Solver
from understudy.model.storage import load_model, save_model
from understudy.model.threads import one_thread
from understudy.model.tree import CELL_BYTES, JunctionTree, candidates_within, junction_tree, tree_size, tree_sizes_with

__all__ = [
    "CELL_BYTES",
    "CLOSER",
    "CLOSER_REGIONS",
    "ENGINES",
    "NUMPY",
    "Device",
    "Distance",
    "Dual",
    "Engine",
    "EngineFor",
    "Fit",
    "GraphicalModel",
    "JunctionTree",
    "MatrixQuery",
    "MirrorDescent",
    "Mixture",
    "Model",
    "Observation",
    "Query",
    "RegionModel",
    "Solver",
    "Zeros",
    "along",
    "candidates_within",
    "combine",
    "engine_on",
    "estimate_total",
    "fit",
    "fit_regions",
    "junction_tree",
    "kept_of",
    "load_model",
    "make_engine",
    "on_cpu",
    "one_thread",
    "regions_size",
    "relax",
    "relaxed_size",
    "rounding_distance",
    "save_model",
    "shrinkage_of",
    "shrunk",
    "total_stddev",
    "train",
    "tree_size",
    "tree_sizes_with",
]

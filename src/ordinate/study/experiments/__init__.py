"""The paper's experiments, its future work, and two of our own, each a module.

It says what to run and how to judge it.
An experiment is a list of cells (settings of one run each), a function that measures a cell, one
that draws the results in the paper's layout, and one that holds them against the claims.
"""

from ordinate.study.experiments import (
    baselines,
    clothes,
    consistency,
    food,
    frontier,
    landmarks,
    million,
    mnist,
    networks,
    scaling,
    warm_start,
    words,
)
from ordinate.study.experiments._frame import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        scaling,
        million,
        warm_start,
        mnist,
        food,
        consistency,
        baselines,
        landmarks,
        frontier,
        words,
        networks,
        clothes,
    )
}

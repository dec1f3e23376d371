"""Processes that begin as a copy of one that has used threads."""

import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork"
)

# More rows than one part has, so that passes run on threads.
SETUP = """
import warnings
warnings.simplefilter("ignore")  # newer Pythons warn of forks where there are threads
import numpy as np
from ordinate import STE, sample_points, sample_triplets
triplets = sample_triplets(sample_points(30, random_state=0), 150_000, random_state=0)

def fit(seed):
    return STE(random_state=seed).fit(triplets).embedding_

expected = fit(0)
"""
MULTIPROCESSING = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map(fit, [0, 0])
"""
JOBLIB = """
from joblib import Parallel, delayed
found = Parallel(n_jobs=2, backend="multiprocessing")(delayed(fit)(0) for _ in range(2))
"""
CHECK = """
assert all(np.array_equal(each, expected) for each in found)
"""


@pytest.mark.parametrize("forking", [MULTIPROCESSING, JOBLIB], ids=["multiprocessing", "joblib"])
def test_fits_after_a_fork(forking):
    process = subprocess.Popen(
        [sys.executable, "-c", SETUP + forking + CHECK],
        env={**os.environ, "ORDINATE_THREADS": "2"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its children wait for threads that are not there
        process.communicate()
        pytest.fail("a fit in a forked process never ended")
    assert process.returncode == 0, errors

"""What commands load: as little as they need, since to load it takes longer than most of them."""

import os
import subprocess
import sys

ANSWERS = "anchor,near,far\n" + "a,b,c\nb,c,d\nc,d,a\nd,a,b\n" * 20


def imported_by(folder, *arguments):
    """Modules that a command imports, and what it says on standard error."""
    (folder / "answers.csv").write_text(ANSWERS)
    command = [sys.executable, "-X", "importtime", "-P", "-m", "ordinate", *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    lines = result.stderr.splitlines()
    names = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    return names, [line for line in lines if not line.startswith("import time:")], result.returncode


def python(code, folder):
    result = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_fit_loads_neither_pandas_nor_the_statistics_of_scipy(tmp_path):
    names, said, code = imported_by(tmp_path, "fit", "answers.csv", "--method", "ste", "-q")
    assert code == 0, said
    assert "sklearn.base" in names
    assert not names & {"pandas.core.frame", "scipy.stats._stats_py", "scipy.integrate"}


def test_a_command_seldom_looks_for_garbage(tmp_path):
    code = """
import gc, os, sys
usually, sys.argv = gc.get_threshold()[0], ["ordinate", "--version"]
from ordinate.cli import main
os._exit = lambda code: print(code, gc.get_threshold()[0] >= 5 * usually > 0)
main()
"""
    assert python(code, tmp_path)[2:] == ["0", "True"]


def test_what_is_no_method_is_refused_before_anything_is_loaded(tmp_path):
    names, said, code = imported_by(tmp_path, "fit", "answers.csv", "--method", "tsne")
    assert code == 2
    assert said[0].startswith("error: --method must be one of auto, ordinal, ste, tste")
    assert said[0].endswith("got tsne")
    assert not names & {"numpy", "sklearn", "pyarrow", "numba"}


def test_the_statistics_of_scipy_are_there_for_whoever_uses_them(tmp_path):
    code = """
import sys
from ordinate.cli._imports import spare_imports
spare_imports()
import scipy.stats
print("scipy.stats._stats_py" in sys.modules)
print(scipy.stats.norm.cdf(0.0))
from scipy.stats import chi2
from scipy.stats.distributions import norm
print(chi2.sf(0.0, 1), norm is scipy.stats.norm, sys.modules["scipy.stats"].__name__)
try:
    import pandas
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert python(code, tmp_path) == ["False", "0.5", "1.0", "True", "scipy.stats", "pandas"]


def test_a_program_that_only_uses_the_package_keeps_pandas(tmp_path):
    code = "import ordinate, ordinate.cli, sys; print(type(sys.meta_path[0]).__name__)"
    assert python(code, tmp_path) != ["_WithoutPandas"]


def test_estimators_load_on_first_use(tmp_path):
    code = """
import sys
from ordinate.estimators.catalogue import METHODS
print("sklearn" in sys.modules, "numpy" in sys.modules)
from ordinate import estimators
print(all(getattr(estimators, method.estimator).__name__ == method.estimator for method in METHODS))
print(hasattr(estimators, "TSNE"))
"""
    assert python(code, tmp_path) == ["False", "False", "True", "False"]
    assert os.listdir(tmp_path) == []

"""All that commands import: a process that has done so is forked for each of them."""

# ruff: noqa: F401
import matplotlib.backends.backend_agg
import matplotlib.backends.backend_svg
import matplotlib.pyplot
import numba
import numpy
import openpyxl
import pyarrow.compute
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.optimize
import sklearn.base

import ordinate.cli
import ordinate.data.advice
import ordinate.estimators.methods
import ordinate.evaluation.analysis
import ordinate.figures.report
import ordinate.files.inputs
import ordinate.study.run_folder

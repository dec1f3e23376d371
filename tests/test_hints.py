"""What is said of files that people nearly wrote as they should be."""

import numpy as np
import pytest

from both_ways import same_both_ways
from ordinate import readers


def read(folder, text, **options):
    path = folder / "x.csv"
    path.write_text(text)
    return readers.read(path, **options)

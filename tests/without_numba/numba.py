"""Stands before the real numba on the path of `make test-plain`."""

raise ModuleNotFoundError("numba is hidden", name="numba")

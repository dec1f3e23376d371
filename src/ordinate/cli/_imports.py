"""What libraries import at once and no command needs, and takes longer than most commands."""

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any


def spare_imports() -> None:
    """Keep libraries from importing what takes long; for a process that runs a command alone.

    scikit-learn and pyarrow import pandas wherever it is installed, to know its tables, which no
    command has: to them it is not there. ``scipy.stats``, which scikit-learn imports too, is
    imported as soon as anything in it is used.
    """
    sys.meta_path.insert(0, _WithoutPandas())
    sys.modules.setdefault("scipy.stats", _Later("scipy.stats"))


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("no command needs pandas", name=name)


class _Later(ModuleType):
    """A module that imports the real one when it is asked for anything."""

    def __getattr__(self, name: str) -> Any:  # which Python calls for what is not here
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)

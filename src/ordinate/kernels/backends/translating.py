"""How compiled kernels are made of the formulas in the table.

A formula is plain Python. NumPy and torch run it as it is. For a compiled backend its code stays
the same, but the names in it come to mean that backend's own functions: ``log`` is then numba's or
Triton's. A kernel leaves blanks where formulas go, and is compiled once for each set of formulas
that fills them.
"""

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, NamedTuple

from ordinate.kernels import functions as _functions


def blank(*_: Any) -> Any:
    """Stand in a kernel for a formula, until :func:`fill` puts it there."""
    raise NotImplementedError("a kernel with blanks runs only once they are filled")


def fill(kernel: Any, blanks: Mapping[str, Any]) -> FunctionType:
    """Return a kernel with translated formulas in its blanks, not compiled yet."""
    return _rebound(kernel, kernel.__globals__ | blanks)


class Language(NamedTuple):
    """What formulas are translated to.

    Attributes
    ----------
    functions : dict
        The backend's own functions, by the names that formulas use.
    compiled : function
        What makes a function of the language of one of Python.
    constant : function
        What makes a constant of the language of a number.
    known : dict
        What has been translated so far, so that nothing is compiled twice.
    """

    functions: Mapping[str, Any]
    compiled: Callable[[Any], Any]
    known: dict[Any, Any]
    constant: Callable[[float], Any] = float

    def translate(self, formula: Any) -> Any:
        """Return the formula in this language, and with it the formulas that it calls."""
        if formula not in self.known:
            self.known[formula] = self._translated(formula)
        return self.known[formula]

    def _translated(self, formula: Any) -> Any:
        scope: dict[str, Any] = {"__name__": formula.__module__}
        for name, value in _names(formula):
            if name in self.functions:
                scope[name] = self.functions[name]
            elif _is_elementary(value):
                raise NotImplementedError(
                    f"the formula {formula.__name__} in {formula.__module__} calls {name}, which "
                    "this backend lacks: add a function of that name to the backend's functions"
                )
            else:
                scope[name] = self.translate(value) if callable(value) else self.constant(value)
        return self.compiled(_rebound(formula, scope))


def spelt_out(formula: Any) -> str:
    """All that a formula says, and those that it calls, so that a change can be told."""
    code = formula.__code__
    said = [repr((code.co_code, code.co_consts, code.co_names, code.co_varnames))]
    for _, value in _names(formula):
        if not _is_elementary(value):
            said.append(spelt_out(value) if callable(value) else repr(value))
    return "\n".join(said)


def _names(formula: Any) -> Iterator[tuple[str, Any]]:
    """Names that a formula uses, and what they mean where it is written."""
    for name in formula.__code__.co_names:
        if name not in formula.__globals__:
            raise NotImplementedError(
                f"the formula {formula.__name__} in {formula.__module__} uses {name}: it may only "
                f"call functions of {_functions.__name__} and other formulas, by their bare names"
            )
        yield name, formula.__globals__[name]


def _is_elementary(value: Any) -> bool:
    """Whether a value is one of the functions that each backend has its own of."""
    return getattr(value, "__module__", None) == _functions.__name__


def _rebound(function: Any, scope: dict[str, Any]) -> FunctionType:
    """Return a function with the same code, whose global names have the meaning of ``scope``."""
    new = FunctionType(function.__code__, scope, function.__name__)
    new.__qualname__, new.__annotations__ = function.__qualname__, function.__annotations__
    return new

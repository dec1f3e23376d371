"""Libraries that an extra brings: import them where they are used, or say what to install."""

from importlib import import_module
from types import ModuleType


def require(name: str, *, extra: str) -> ModuleType:
    """Import an optional library.

    Parameters
    ----------
    name : str
        The module, for example ``"torch"``.
    extra : str
        The extra of ordinate that installs it, for example ``"gpu"``.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        When the library cannot be imported; the message says what to install.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which could not be imported ({error}); "
            f"install it with: pip install {name} (the extra {extra} of ordinate)"
        ) from error

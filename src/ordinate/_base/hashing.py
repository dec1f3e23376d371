"""SHA-256 of files, and of several as one."""

import hashlib
from collections.abc import Mapping
from pathlib import Path


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_several(hashes: Mapping[str, str]) -> str:
    """Return one SHA-256 for several files, given that of each by its name.

    It is what ``sha256sum NAMES | sha256sum`` prints, the names in order.
    """
    lines = (f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()

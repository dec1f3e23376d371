"""Public data from local copies: which file is meant, and what decoders raise at damaged ones."""

import os
import zipfile
import zlib
from pathlib import Path

from ordinate._base.messages import some
from ordinate.files.readers import ReadError

# What decoders raise at files that are cut off, damaged or of another format; zipfile says
# NotImplementedError of a compression that it does not know.
BROKEN = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, NotImplementedError)


def existing(path: str | os.PathLike) -> Path:
    """The path of a file or folder that is there."""
    file = Path(path).expanduser()
    if not file.exists():
        raise ReadError(f"{file}: there is no such file or folder")
    return file


def one_file(folder: Path, *patterns: str) -> Path:
    """Return the file that the first of the patterns finds; several files are refused."""
    for pattern in patterns:
        found = sorted(file for file in folder.glob(pattern) if file.is_file())
        if len({file.name.removesuffix(".gz") for file in found}) > 1:
            raise ReadError(
                f"{folder} holds several files that may be meant, "
                f"{some([file.name for file in found])}; give one of them"
            )
        if found:
            return found[0]
    raise ReadError(f"{folder} holds none of the files {', '.join(patterns)}")

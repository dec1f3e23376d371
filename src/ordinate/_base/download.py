"""Fetching public files: once, with a checksum, into a cache."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ordinate._base.messages import Message, Option
from ordinate._base.writing import whole_file

TIMEOUT = 30  # seconds without a byte
BLOCK = 1 << 16

Progress = Callable[[str, int, int | None], Any]


class DownloadError(OSError):
    """A public file cannot be had; the message says what was tried and what to do."""


def cache_folder(cache: str | os.PathLike | None) -> Path:
    given = cache or os.environ.get("ORDINATE_DATA")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ordinate"


def fetch(url: str, file: Path, digest: str, progress: Progress | None) -> Path:
    """Return the file from the cache, fetched and checked if it is not there yet."""
    if file.exists():
        found = digest_of(file, digest)
        if found != digest:
            raise DownloadError(
                Message(
                    f"{file} in the cache is not the published file: its checksum is {found}, not "
                    f"{digest}. Delete it to fetch it again, or give a local copy with ",
                    Option("path", ...),
                )
            )
        return file
    try:
        with whole_file(file) as partial:
            _download(url, partial, file.name, progress)
            found = digest_of(partial, digest)
            if found != digest:
                raise OSError(f"what came is not the published file: {found}, not {digest}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise DownloadError(
            Message(
                f"{file.name} could not be fetched from {url} into {file.parent}: {error}. Give a "
                "local copy with ",
                Option("path", ...),
                ", or try again later",
            )
        ) from error
    return file


def _download(url: str, file: Path, name: str, progress: Progress | None) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "ordinate (Python)"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response, file.open("wb") as out:
        length = response.headers.get("Content-Length")
        total = int(length) if length else None
        done = 0
        while block := response.read(BLOCK):
            out.write(block)
            done += len(block)
            if progress is not None:
                progress(name, done, total)
    if total is not None and done < total:
        raise OSError(f"the transfer ended after {done:,} of {total:,} bytes")


def digest_of(file: Path, like: str) -> str:
    """Return the checksum of a file, of the kind of another one."""
    kind = like.partition(":")[0]
    with file.open("rb") as content:
        found = hashlib.file_digest(content, lambda: hashlib.new(kind, usedforsecurity=False))
    return f"{kind}:{found.hexdigest()}"

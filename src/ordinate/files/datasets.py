"""Public data: fetched once from their public homes with a checksum, or taken from local files."""

import glob
import gzip
import os
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from ordinate._base.download import DownloadError, Progress, cache_folder, fetch
from ordinate._base.messages import some
from ordinate.data.triplets import Triplets
from ordinate.files import readers
from ordinate.files.graphs import load_graph
from ordinate.files.local import BROKEN, existing, one_file
from ordinate.files.readers import ReadError
from ordinate.files.words import Words, load_words

__all__ = [
    "DownloadError",
    "Food",
    "Images",
    "Words",
    "load_fashion",
    "load_food",
    "load_graph",
    "load_mnist",
    "load_words",
]

MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST_FILES = {
    "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}
FASHION = "/usr/share/datasets/fashion-mnist"
FOOD_URL = "https://osf.io/download/6aa16bb1813a28b1e43f09bb/"
FOOD_ZIP = "food100-dataset.zip"
FOOD_SUM = "sha256:18f5e210174dfdbf6a7b4ed7538cf8ba53fd65e0cbe193519231b8ab4ea8fc62"
FOOD_CSV = "all-triplets.csv"
# Arrays come first: only beside them it is known which rows are one answer.
FOOD_FILES = (
    "triplets_all.npy",
    "triplets*.npy",
    FOOD_CSV,
    f"food100-dataset/{FOOD_CSV}",
    FOOD_ZIP,
)


class Images(NamedTuple):
    """Pictures of digits.

    Attributes
    ----------
    images : ndarray of uint8, shape (n, 28, 28)
    labels : ndarray of int, shape (n,)
        The digit of each image.
    """

    images: np.ndarray
    labels: np.ndarray


class Food(NamedTuple):
    """Which dishes taste alike, according to people.

    Attributes
    ----------
    triplets : Triplets
        Labelled by dish; by image, or by number, where the dish, or the image, is not known. A dish
        that occurs twice is told apart by its images.
    names : list of str
        The dish of each item, "" where it is not known.
    images : list of str
        The file name of each item's image, "" where it is not known.
    notes : list of str
        What the files leave open.
    """

    triplets: Triplets
    names: list[str]
    images: list[str]
    notes: list[str]


def load_mnist(
    path: str | os.PathLike | None = None,
    *,
    url: str = MNIST_URL,
    cache: str | os.PathLike | None = None,
    progress: Progress | None = None,
) -> Images:
    """Load the 10,000 test digits of MNIST.

    Parameters
    ----------
    path : str or path, optional
        A local copy: the idx file of the images with that of the labels beside it, each also
        within gzip; an .npz file with both arrays; or a folder with either. What it holds is taken
        as it is, without a checksum. By default the published files are fetched once.
    url : str
        Where the published files are.
    cache : str or path, optional
        The folder that keeps what was fetched. By default the environment variable
        ``ORDINATE_DATA``, or else ``ordinate`` in ``XDG_CACHE_HOME`` or ``~/.cache``.
    progress : callable, optional
        Called with the name of the file, the bytes fetched so far, and their number in all if it is
        known.

    Returns
    -------
    Images

    Raises
    ------
    DownloadError
        The files cannot be fetched, or are not the published ones.
    ordinate.readers.ReadError
        The local files do not hold such images.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from ordinate import datasets
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "digits.npz"
    >>> np.savez(path, images=np.zeros((5, 28, 28), np.uint8), labels=np.arange(5))
    >>> images, labels = datasets.load_mnist(path)
    >>> images.shape, labels.shape
    ((5, 28, 28), (5,))
    """
    if path is not None:
        return _mnist(existing(path))
    folder = cache_folder(cache) / "mnist"
    images, labels = (
        fetch(f"{url.rstrip('/')}/{name}", folder / name, digest, progress)
        for name, digest in MNIST_FILES.items()
    )
    return _checked_images(f"{images} and {labels}", _idx(images), _idx(labels))


def load_fashion(path: str | os.PathLike = FASHION) -> Images:
    """Load all 70,000 pictures of Fashion-MNIST: clothes of ten kinds, in place of digits.

    Parameters
    ----------
    path : str or path
        The folder with the four idx files, each also within gzip; by default where Debian's
        package ``dataset-fashion-mnist`` puts them. MNIST's own four files have the same names and
        shapes, and are read as well.

    Returns
    -------
    Images
        The 60,000 pictures for training first, then the 10,000 for tests.

    Raises
    ------
    ordinate.readers.ReadError
        The files are not there, or do not hold such pictures.
    """
    if not Path(path).expanduser().is_dir():
        raise ReadError(
            f"{path}: there is no such folder. Debian's package dataset-fashion-mnist has the "
            "files; elsewhere, give a folder with train-images-idx3-ubyte.gz and its three kin"
        )
    folder = existing(path)
    parts = [_mnist(one_file(folder, f"{part}-images*")) for part in ("train", "t10k")]
    return Images(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def load_food(
    path: str | os.PathLike | None = None,
    *,
    url: str = FOOD_URL,
    cache: str | os.PathLike | None = None,
    progress: Progress | None = None,
) -> Food:
    r"""Load the answers about the taste of 100 dishes (Wilber, Kwak and Belongie, 2014).

    Parameters
    ----------
    path : str or path, optional
        A local copy: the published zip file, its all-triplets.csv, a .npy file of rows (anchor,
        near, far) of ids from 0, or a folder with one of these. An ``items.txt`` beside it, with a
        line ``file name<TAB>dish`` for each item, names the dishes; beside ``NAME.npy`` an array
        ``screen_of_NAME.npy`` tells which answer each row came from. By default the published file
        is fetched once.
    url : str
        Where the published zip file is.
    cache : str or path, optional
        As in :func:`load_mnist`.
    progress : callable, optional
        As in :func:`load_mnist`.

    Returns
    -------
    Food

    Raises
    ------
    DownloadError
        The file cannot be fetched, or is not the published one.
    ordinate.readers.ReadError
        The local files cannot be read, or do not fit together.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinate import datasets
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "all-triplets.csv").write_text("images/a.jpg; images/b.jpg; images/c.jpg\n")
    >>> _ = (folder / "items.txt").write_text("a.jpg\tSoup\nb.jpg\tSoup\nc.jpg\tCake\n")
    >>> food = datasets.load_food(folder)
    >>> food.triplets
    Triplets(1 rows, 3 items)
    >>> food.triplets.items.tolist()
    ['Soup (a.jpg)', 'Soup (b.jpg)', 'Cake']
    """
    if path is None:
        file = fetch(url, cache_folder(cache) / "food100" / FOOD_ZIP, FOOD_SUM, progress)
    else:
        file = existing(path)
        if file.is_dir():
            file = one_file(file, *FOOD_FILES)
    reading = _read_zip(file) if zipfile.is_zipfile(file) else _read_food(file)
    try:
        return _food(file, reading)
    except ReadError:
        raise
    except BROKEN as error:
        raise ReadError(f"{file}, with what lies beside it: {error}") from error


def _mnist(path: Path) -> Images:
    file = one_file(path, "t10k-images*", "*.npz") if path.is_dir() else path
    if file.suffix == ".npz":
        return _npz(file)
    before, images, _ = file.name.rpartition("images")
    if not images:
        raise ReadError(
            f"{file} is neither an .npz file nor named as MNIST's images are, such as "
            "t10k-images-idx3-ubyte.gz, with the labels beside it"
        )
    labels = one_file(file.parent, f"{glob.escape(before)}labels*")
    return _checked_images(f"{file} and {labels}", _idx(file), _idx(labels))


def _npz(file: Path) -> Images:
    """Find the images and their labels by the shapes of the arrays."""
    try:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is not a zip file; is it cut off?")
        with np.load(file, allow_pickle=False) as arrays:
            # Keras has the training digits in the same file.
            names = [name for name in arrays.files if "test" in name] or arrays.files
            found = {name: arrays[name] for name in names}
    except BROKEN as error:
        raise ReadError(f"{file} cannot be read as .npz: {error}") from error
    images = [array for array in found.values() if array.ndim == 3]
    labels = [array for array in found.values() if array.ndim == 1]
    if len(images) != 1 or len(labels) != 1:
        shapes = {name: array.shape for name, array in found.items()}
        raise ReadError(
            f"{file} must hold one array of images (n, 28, 28) and one of labels (n,); got {shapes}"
        )
    return _checked_images(str(file), images[0], labels[0])


def _idx(file: Path) -> np.ndarray:
    """Read bytes in idx format: 0, 0, 8, the number of axes, their lengths, then the values."""
    try:
        content = file.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        if len(content) < 4 or content[:3] != b"\0\0\x08":
            raise ValueError(f"it begins with the bytes {content[:4].hex(' ')}, not 00 00 08")
        shape = np.frombuffer(content, ">u4", count=content[3], offset=4)
        return (
            np.frombuffer(content, np.uint8, offset=4 + shape.nbytes).reshape(shape.tolist()).copy()
        )
    except BROKEN as error:
        raise ReadError(
            f"{file} cannot be read as an idx file of bytes: {error}. Is it cut off or damaged?"
        ) from error


def _checked_images(shown: str, images: np.ndarray, labels: np.ndarray) -> Images:
    if images.shape != (len(labels), 28, 28) or images.dtype != np.uint8 or labels.ndim != 1:
        raise ReadError(
            f"{shown}: images must be bytes of shape (n, 28, 28), with n labels; got "
            f"{images.dtype} {images.shape} and labels {labels.shape}"
        )
    if labels.dtype.kind not in "iu":
        raise ReadError(f"{shown}: labels must be integers; got {labels.dtype}")
    return Images(images, labels)


def _read_food(file: Path) -> readers.Reading:
    if file.suffix == ".npy":
        return readers.read(file, first_id=0)
    return readers.read(file, layout="food100")


def _read_zip(file: Path) -> readers.Reading:
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if PurePosixPath(name).name == FOOD_CSV]
    except BROKEN as error:
        raise ReadError(f"{file} cannot be unpacked: {error}") from error
    if len(names) != 1:
        raise ReadError(f"{file} must hold one {FOOD_CSV}; it holds {len(names)}")
    return readers.read(file, layout="food100", table=names[0])


def _food(file: Path, reading: readers.Reading) -> Food:
    """Put together the rows, the names and the answers that lie beside the file."""
    triplets, notes = reading.triplets, list(reading.notes)
    items = _items(file.parent / "items.txt")
    if file.suffix == ".npy":
        images = list(items) or [""] * triplets.n_items
        rows, answer = triplets.rows, _screens(file, notes)
        if triplets.n_items > len(images):
            raise ReadError(f"{file} has {triplets.n_items} items, items.txt only {len(images)}")
    else:
        shown = [PurePosixPath(label).name for label in triplets.items]
        images = list(items) or shown
        place = {image: i for i, image in enumerate(images)}
        unknown = [image for image in shown if image not in place]
        if unknown:
            raise ReadError(f"{file} has images that items.txt does not name: {some(unknown)}")
        rows, answer = np.array([place[image] for image in shown], np.int32)[triplets.rows], None
    names = [items.get(image, "") for image in images]
    labelled = Triplets(rows, items=_labels(names, images), answer=answer)
    return Food(labelled, names, images, notes)


def _screens(file: Path, notes: list[str]) -> np.ndarray | None:
    """Return which answer each row came from, where that is known."""
    screens = file.with_name(f"screen_of_{file.name}")
    if screens.exists():
        return np.load(screens, allow_pickle=False)
    notes.append(
        f"there is no {screens.name} to tell which rows come from one answer: accuracy on held-out "
        "rows flatters the map"
    )
    return None


def _items(file: Path) -> dict[str, str]:
    """Return the dish of each image, in the order of the file; nothing if there is no file."""
    items: dict[str, str] = {}
    text = file.read_text(encoding="utf-8-sig") if file.exists() else ""
    for number, line in enumerate(text.split("\n"), 1):
        image, _, dish = (part.strip() for part in line.partition("\t"))
        if not line.strip():
            continue
        if "\t" not in line or not image or image in items:
            raise ReadError(
                f"{file}, line {number}: there must be one line for each image, file name, tab, "
                f"dish; got {line!r}"
            )
        items[image] = dish
    return items


def _labels(names: list[str], images: list[str]) -> list[str] | list[int]:
    """Label items by dish where that tells them apart, else by image, else by number."""
    if not any(images):
        return list(range(len(images)))
    often = Counter(names)
    return [
        image if not name else name if often[name] == 1 else f"{name} ({image})"
        for name, image in zip(names, images, strict=True)
    ]

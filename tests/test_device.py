"""What runs on a GPU, on torch's CPU: stores against those in memory, fits against fits."""

import warnings

import numpy as np
import pytest

import ordinate
from ordinate import (
    LOE,
    STE,
    TSTE,
    STEKer,
    Triplets,
    ondisk,
    procrustes_error,
    sample_points,
    sample_triplets,
)
from ordinate._base import arrays as _arrays
from ordinate._base.device import TORCH_CPU, choose_device, describe_device
from ordinate.files.ondisk import handles
from ordinate.kernels import losses
from ordinate.passes import MemoryTriplets

torch = pytest.importorskip("torch", reason="torch is not installed")

from on_torch import HostTriplets  # noqa: E402

from ordinate.passes import columns as columns_store  # noqa: E402
from ordinate.passes import device as device_store  # noqa: E402
from ordinate.passes import triplets as triplets_store  # noqa: E402

HERE = torch.device("cpu")


def test_single_precision_is_close():
    points = sample_points(50, 2, random_state=0)
    triplets = sample_triplets(points, 9000, random_state=0)
    for name in losses.NAMES:
        double, single = (
            HostTriplets.of(MemoryTriplets.from_triplets(triplets), TORCH_CPU, precision).loss(
                points, losses.get(name)
            )
            for precision in ("double", "single")
        )
        assert single[0] == pytest.approx(double[0], rel=1e-5)
        assert single[1] == pytest.approx(double[1], abs=1e-4 * np.abs(double[1]).max())


@pytest.mark.parametrize(
    "options",
    [{}, {"recovery": "edm"}, {"recovery": "lift"}, {"noise": "thurstone"}, {"landmarks": 9}],
)
@pytest.mark.parametrize("per_item", [20, 400])
def test_loe_is_the_same_map(options, per_item):
    """With few comparisons, by many steps; with many, by one."""
    points = sample_points(300, 2, random_state=0)
    triplets = sample_triplets(
        points, 300 * per_item * 6, design="landmarks", landmarks=12, random_state=0
    )
    if "landmarks" in options:
        options = {"landmarks": np.unique(triplets.rows[:, 0])[:9]}
        triplets = triplets[np.isin(triplets.rows[:, 0], options["landmarks"])]
    here = LOE(**options).fit(triplets)
    there = LOE(device=HERE, **options).fit(triplets)
    assert there.embedding_ == pytest.approx(here.embedding_, abs=1e-4)
    assert there.scores_ == pytest.approx(here.scores_, abs=1e-3)
    assert there.n_passes_ == here.n_passes_
    assert there.recovery_ == here.recovery_
    assert (here.device_, there.device_) == ("cpu", TORCH_CPU)
    assert all(
        isinstance(a, np.ndarray) for a in (there.embedding_, there.score_details_.information)
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"solver": "scipy"}, {"init": "random", "solver": "batches"}, {"regularization": 1.0}],
)
def test_ste_is_the_same_map(options):
    points = sample_points(80, 2, random_state=0)
    triplets = sample_triplets(points, 60_000, random_state=0)
    options = {"tol": 1e-8, "random_state": 0, **options}
    here = STE(**options).fit(triplets)
    there = STE(device=HERE, **options).fit(triplets)
    assert procrustes_error(there.embedding_, here.embedding_, relative=True) < 1e-3
    assert there.loss_ == pytest.approx(here.loss_, rel=1e-7)
    assert there.device_ == TORCH_CPU
    assert isinstance(there.init_.points, np.ndarray)


def test_a_start_by_loe_runs_there_too(capsys):
    points = sample_points(200, 2, random_state=0)
    triplets = sample_triplets(points, 60_000, design="landmarks", landmarks=8, random_state=0)
    model = STE(device=HERE, verbose=1).fit(triplets)
    assert model.init_.name == "loe"
    assert "[STE] device: torch:cpu" in capsys.readouterr().err


def test_items_without_triplets_have_no_place():
    triplets = sample_triplets(sample_points(30, 2, random_state=0), 6000, random_state=0)
    with pytest.warns(UserWarning, match="3 items are in no triplet"):
        model = TSTE(n_items=33, device=HERE, random_state=0).fit(triplets.rows)
    assert np.isnan(model.embedding_[30:]).all()
    assert np.isfinite(model.embedding_[:30]).all()


def test_sums_of_whole_numbers_have_no_order():
    rng = np.random.default_rng(0)
    index = torch.from_numpy(rng.integers(50, size=10_000))
    change = torch.from_numpy(
        rng.normal(size=(10_000, 2)) * 10.0 ** rng.integers(-6, 6, (10_000, 1))
    )
    total = torch.zeros((50, 2), dtype=torch.float64)
    exact = total.clone().index_add_(0, index, change)
    order = torch.from_numpy(rng.permutation(10_000))
    sums = [
        _arrays._sum_in_integers(total, i, c)
        for i, c in ((index, change), (index[order], change[order]))
    ]
    assert torch.equal(*sums)
    assert sums[0].numpy() == pytest.approx(exact.numpy(), rel=1e-10, abs=1e-8)
    assert not _arrays._sum_in_integers(total, index[:0], change[:0]).any()
    assert not _arrays._sum_in_integers(total, index, 0 * change).any()


def test_determinism_holds_inside_a_block():
    assert not _arrays.is_deterministic()
    with ordinate.deterministic():
        assert _arrays.is_deterministic()
    assert not _arrays.is_deterministic()


def test_devices_are_named_or_refused(monkeypatch):
    assert choose_device(None) == choose_device("cpu") == "cpu"
    assert choose_device(torch.device("cpu")) == describe_device(TORCH_CPU) == TORCH_CPU
    for wrong in ("gpu", "cuda:one", "cuda1", 0, "torch-cpu", TORCH_CPU, torch.device("mps")):
        with pytest.raises(ValueError, match="device must be None, 'cpu', 'cuda'"):
            choose_device(wrong)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    with pytest.raises(
        RuntimeError, match=r"device='cuda' was asked for.* sees 0 GPUs.*pip install torch"
    ):
        STE(device="cuda").fit([[0, 1, 2]])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    assert choose_device("auto") == choose_device("cuda") == "cuda:0"
    assert choose_device("cuda:1") == choose_device(torch.device("cuda", 1)) == "cuda:1"
    assert choose_device(torch.device("cuda")) == "cuda:0"
    assert choose_device(torch.device("cpu", 0)) == TORCH_CPU
    assert describe_device("cuda:1") == "cuda:1 (a GPU)"
    with pytest.raises(RuntimeError, match="device='cuda:2' was asked for.* sees 2 GPUs"):
        choose_device("cuda:2")


def test_room_on_a_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100, 200))
    assert device_store.has_room("cuda:0", 50)
    assert not device_store.has_room("cuda:0", 51)
    assert device_store.has_room(TORCH_CPU, 1e12)


def test_kernel_forms_run_on_the_cpu():
    triplets = sample_triplets(sample_points(10, 2, random_state=0), 300, random_state=0)
    assert STEKer(tol=1e-2).fit(triplets).device_ == "cpu"


@pytest.mark.parametrize("weighted", [False, True])
def test_what_does_not_fit_is_sent_block_by_block(monkeypatch, weighted):
    """Maps are those of resident data; blocks of 7,000 rows make many of them."""
    points = sample_points(60, 2, random_state=0)
    rows = sample_triplets(points, 40_000, random_state=1).rows
    about = sample_triplets(points, 40_000, design="landmarks", landmarks=12, random_state=2).rows
    weight = np.random.default_rng(0).integers(1, 4, 40_000) if weighted else None
    every, landmark = (Triplets(r, n_items=60, weight=weight) for r in (rows, about))
    resident = STE(device=HERE, tol=1e-9, random_state=0).fit(every).embedding_
    loe = LOE(device=HERE).fit(landmark).embedding_
    monkeypatch.setattr(device_store, "has_room", lambda device, n_bytes: False)
    monkeypatch.setattr(triplets_store, "BLOCK", 7000)
    monkeypatch.setattr(columns_store, "BLOCK", 700)
    with pytest.warns(UserWarning, match="sent there again for every pass"):
        blocked = STE(device=HERE, tol=1e-9, random_state=0).fit(every)
    assert blocked.embedding_ == pytest.approx(resident, abs=1e-3)
    assert blocked.n_passes_ > 5
    with pytest.warns(UserWarning, match="sent there again for every pass"):
        assert LOE(device=HERE).fit(landmark).embedding_ == pytest.approx(loe, abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("room", [True, False])
def test_files_larger_than_memory_go_to_the_device(monkeypatch, tmp_path, room, weighted):
    """Resident where the device has room, else in blocks; nothing is read into memory whole."""
    points = sample_points(60, 2, random_state=0)
    about = sample_triplets(points, 40_000, design="landmarks", landmarks=12, random_state=2)
    weight = np.random.default_rng(0).integers(1, 4, 40_000) if weighted else None
    triplets = Triplets(about.rows, n_items=60, weight=weight)
    ondisk.write([triplets], tmp_path / "x")
    opened = ondisk.open_triplets(tmp_path / "x", memory_limit="900kB")
    assert not opened.fits
    monkeypatch.setattr(handles, "BLOCK", 1 << 10)
    monkeypatch.setattr(handles, "SMALLEST_BLOCK", 1 << 8)
    monkeypatch.setattr(device_store, "has_room", lambda device, n_bytes: room)
    monkeypatch.setattr(ondisk.TripletFile, "load", None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loe = LOE(device=HERE).fit(opened)
        ste = STE(device=HERE, tol=1e-9, random_state=0).fit(opened)
    assert sum("sent there again" in str(w.message) for w in said) == (0 if room else 2)
    assert loe.embedding_ == pytest.approx(LOE().fit(triplets).embedding_, abs=1e-5)
    known = STE(tol=1e-9, random_state=0).fit(triplets).embedding_
    assert ste.embedding_ == pytest.approx(known, abs=1e-3)

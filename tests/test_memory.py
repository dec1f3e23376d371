import pytest

from ordinate._base import memory as _memory
from ordinate._base.memory import _left_in_container, available_memory, memory_size

GIB = 2**30
NEW, OLD = ("max", "current", "stat"), ("limit_in_bytes", "usage_in_bytes")


def write(folder, names, *values):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, values, strict=True):
        (folder / f"memory.{name}").write_text(f"{value}\n")


def test_limits_of_containers_count_up_to_the_root(tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("0::/slurm/job_7\n")
    write(tmp_path, NEW, "max", 9 * GIB, "")
    write(tmp_path / "slurm", NEW, 4 * GIB, 3 * GIB, "")
    stat = f"anon 1\ninactive_file {GIB // 2}\nfile 3"
    write(tmp_path / "slurm" / "job_7", NEW, 8 * GIB, GIB, stat)
    assert list(_left_in_container(tmp_path, mine)) == [7.5 * GIB, GIB]


def test_limits_of_older_containers(tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("5:cpu,memory:/outside/path\n4:pids:/\n")
    write(tmp_path / "memory", OLD, 2 * GIB, GIB)
    write(tmp_path / "pids", OLD, 1, 1)
    assert list(_left_in_container(tmp_path, mine)) == [GIB]
    assert list(_left_in_container(tmp_path, tmp_path / "none")) == []


@pytest.mark.parametrize("left", [12345, -3])
def test_the_least_counts(monkeypatch, left):
    assert available_memory() > 0
    monkeypatch.setattr(_memory, "_left_in_container", lambda: [GIB**2, left])
    assert available_memory() == max(left, 0)


def test_sizes_in_words():
    units = {"": 1, "k": 1e3, "M": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "gi": 2**30}
    for unit, size in units.items():
        assert memory_size(f"2.5 {unit}") == int(2.5 * size)
    for wrong in ("", "much", "-1", 0, "1.2.3", "5 TB"):
        with pytest.raises(ValueError, match="memory_limit must be a number of bytes"):
            memory_size(wrong)

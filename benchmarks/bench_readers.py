"""Reading files: rows per second, and the ratio to a bare read of the same file by Arrow."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from _measure import best_time, heading

from ordinate import Triplets, readers, sample_points, sample_triplets


def bare_read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix == ".npy":
        return np.load(path)
    return pa.csv.read_csv(path)


def main() -> None:
    heading("Files of a million rows, n = 1e4")
    n, m = 10_000, 1_000_000
    rows = sample_triplets(sample_points(n, 2, random_state=0), m, random_state=0).rows
    named = Triplets(
        rows,
        items=[f"images/item-{i:05d}.jpg" for i in range(n)],
        participant=np.arange(m) // 1000,
    ).to_arrow()
    numbers = Triplets(rows, n_items=n).to_arrow()
    print("| file | MB | million rows / s | times a bare read |")
    print("|---|---|---|---|")
    kept = named.rename_columns(["first", "second", "odd", "participant"])
    with tempfile.TemporaryDirectory() as folder:
        names = ("ids.csv", "labels.csv", "odd one out.csv", "labels.parquet", "ids.npy")
        files = {name: Path(folder) / name for name in names}
        pa.csv.write_csv(numbers, files["ids.csv"])
        pa.csv.write_csv(named, files["labels.csv"])
        pa.csv.write_csv(kept, files["odd one out.csv"])
        pa.parquet.write_table(named, files["labels.parquet"])
        np.save(files["ids.npy"], rows)
        for name, path in files.items():
            bare = best_time(lambda path=path: bare_read(path))
            ours = best_time(lambda path=path: readers.read(path))
            size = path.stat().st_size / 1e6
            print(f"| {name} | {size:.0f} | {m / ours / 1e6:.1f} | {ours / bare:.1f} |")


if __name__ == "__main__":
    main()

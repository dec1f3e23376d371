"""The endings of files: of those that readers know, and of pictures; and names without them."""

from pathlib import Path

ENDINGS = (
    *(".csv", ".tsv", ".tab", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm"),
    *(".mat", ".npy", ".npz", ".parquet", ".pq", ".feather", ".arrow", ".arrows", ".ipc"),
    *(".gz", ".zip"),
)
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
IMAGES = (*PICTURES, ".svg")  # that labels may name, whether or not they can be drawn


def stem(name: str) -> str:
    """Return a file's name without the endings of formats.

    Examples
    --------
    >>> stem("study.1.csv.gz"), stem("P07.XLSX"), stem("07/a.csv"), stem(".csv")
    ('study.1', 'P07', '07/a', '.csv')
    """
    while (ending := Path(name).suffix).lower() in ENDINGS:
        name = name.removesuffix(ending)
    return name

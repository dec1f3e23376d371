"""Make docs/results.md from folders that ``ordinate reproduce`` wrote.

``python benchmarks/results_page.py FOLDER``, where FOLDER/NAME is the output of each experiment.
"""

import re
import sys
from pathlib import Path

from ordinate.figures.plotting import save
from ordinate.study.experiments import EXPERIMENTS
from ordinate.study.experiments._frame import picture, read_rows

DOCS = Path(__file__).parent.parent / "docs"
HEAD = """# Results

The experiments of *Landmark Ordinal Embedding* (Ghosh, Chen and Yue, NeurIPS 2019), reproduced by
one command each, what it names as future work (words, networks), and some of our own. `ordinate
reproduce NAME` runs an experiment at a quick scale, and with `--scale paper` at the paper's; it
writes all results as CSV, the figure, and a page with the claims and our verdict. The sections
below are those pages, joined by `python benchmarks/results_page.py FOLDER`.

Errors are relative Procrustes errors without scaling unless stated otherwise. "Cold" is a random
start, as in the paper's baselines. The baselines here are this library's own: their passes are
compiled and their steps use the curvature, so they are far faster than those that the paper
compares LOE with; [cblearn's](maps.md) are 28 to 1400 times slower.
"""
REMARKS = {
    "warm-start": "LOE-STE drops the landmark triplets after the start, as in the paper, and so "
    "ends with the error of the rest of the budget; [all of them may stay](maps.md). Our spectral "
    "start needs no landmarks.",
    "food": "The deviation is of our own making: from any start, STE takes some 23 passes over "
    "250,320 triplets here, 0.04 s, so 25 rankings cost more than they save; "
    "the paper's STE took 250 times as long. The figure here is drawn without the dishes' "
    "names.",
    "million": "With c = 200, 2.76 thousand million comparisons, the fit took 48 s within 1.5 GiB "
    "of memory: [large files](large.md).",
    "frontier": "In an environment with cblearn 0.4.0 (`make peers` sets it up).",
    "scaling": "Medians of three trials. With d + 3 landmarks drawn at random and Algorithm 1 the "
    "error is a matter of luck, 0.06 to 0.38; with the default number of landmarks and recovery it "
    "is 0.055 to 0.077 in every trial. GNMDS's margin sets its scale, so it may end above "
    "LOE's error. The cells n = 20,000 and 60,000 were run a second time, since other programs had "
    "disturbed the first.",
    "landmarks": "With 5 landmarks in two dimensions the default recovery is already at 0.077, "
    "where Algorithm 1 is at 0.105 with 40.",
}


def draw(name: str, folder: Path, path: Path) -> None:
    """Draw the figure anew; dishes without their names, which are not ours to publish."""
    rows = read_rows(folder / "results.csv")
    if name == "food":
        rows = [{**row, "label": ""} for row in rows]
    save(picture(EXPERIMENTS[name], rows), path, dpi=150)


def main(folder: Path) -> None:
    parts = [HEAD]
    for name in EXPERIMENTS:
        page = folder / name / "README.md"
        if not page.exists():
            print(f"{name}: no results in {folder}")
            continue
        text = page.read_text(encoding="utf-8").replace("# ", "## ", 1)
        text = text.replace("(figure.png)", f"(images/results-{name}.png)")
        text = re.sub(r" All results: \[results.csv\]\(results.csv\)\.", "", text)
        # Where files lay on the machine that ran it is of no use to others.
        text = re.sub(r"-o \S+( -q)?( --force)?`", f"-o {name}/`", text)
        text = re.sub(r"--data \S+", "--data PATH", text)
        draw(name, folder / name, DOCS / "images" / f"results-{name}.png")
        parts.append(text.rstrip() + "\n")
        if name in REMARKS:
            parts.append(REMARKS[name] + "\n")
    (DOCS / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

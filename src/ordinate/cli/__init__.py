"""The command line: from the file people have to the figure they publish.

Exit codes: 0 all went well; 1 an unforeseen error; 2 wrong use or options; 3 the input cannot
be read as it is; 4 the output cannot be written; 130 interrupted.
"""

import gc
import os
import signal
import sys
from typing import Annotated

import typer

from ordinate._base.writing import remove_scratch
from ordinate.cli import _shell as shell
from ordinate.cli import about, ask, compare, data, fit, maps, place, reproduce
from ordinate.cli._imports import spare_imports

app = typer.Typer(
    name="ordinate",
    no_args_is_help=True,
    rich_markup_mode=None,  # whose tables cut names of options in a terminal of 80 columns
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all went well, 2 wrong use, 3 input cannot be read, 4 output cannot be "
    "written, 130 interrupted, 1 anything else.",
)
app.command("fit", cls=shell.OneAtATime)(fit.fit)
app.command("check", cls=shell.OneAtATime)(data.check)
app.command("plot")(maps.plot)
app.command("score")(maps.score)
app.command("compare")(compare.compare)
app.command("export")(maps.export)
app.command("place")(place.place)
app.command("ask")(ask.ask)
app.command("plan")(ask.plan)
app.command("simulate")(data.simulate)
app.command("convert", cls=shell.OneAtATime)(data.convert)
app.command("methods")(about.methods)
app.command("demo")(about.demo)
app.command("reproduce")(reproduce.reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        from ordinate import __version__

        typer.echo(f"ordinate {__version__}")
        raise typer.Exit


@app.callback()
def ordinate(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Coordinates from comparisons: a map of items from "which is closer to this one?"."""


def main() -> None:
    """Run the command line, then end at once: to take a large Python apart takes half a second."""
    gc.set_threshold(10_000)  # objects: to look for cycles among those of libraries takes long
    spare_imports()
    sys.unraisablehook = shell.interrupt_again
    code: str | int | None = 0
    try:
        app()
    except SystemExit as ended:
        code = ended.code
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # all is done
    remove_scratch()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)

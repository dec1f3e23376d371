"""What commands share: options, messages, progress, and errors that need no traceback."""

import _thread
import csv
import functools
import io
import json
import math
import os
import re
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_type_hints

import typer
from typer.core import TyperCommand

from ordinate._base.messages import Message, Option, counted, message_of, readable

if TYPE_CHECKING:
    from rich.progress import Progress

    from ordinate.files.readers import ReadError

OFTEN = 10  # seconds between lines that say what is being done
MANY = 10  # lines that differ in numbers alone; further ones are not told too often either
WRONG_USE, UNREADABLE, UNWRITABLE, INTERRUPTED = 2, 3, 4, 130
AGAIN = 0.02  # seconds after which an interruption that was lost comes again

File = Annotated[
    Path,
    typer.Argument(
        help="The file with the answers, a folder of them, or - for standard input.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.")]
Defuse = Annotated[
    bool, typer.Option("--defuse", help="Put ' before labels that spreadsheets would compute.")
]
Seed = Annotated[int, typer.Option(help="Seed for all random numbers.", min=0)]
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="Memory limit, as in 4GiB; by default half of what is free."),
]
ClusterAt = Annotated[
    str | None,
    typer.Option(
        "--cluster", help="Dask's scheduler, as in tcp://host:8786, or local:4 for workers here."
    ),
]


# Parameters that have another name here than in Python.
RENAMED = {
    "n_components": "dimensions",
    "show_labels": "labels",
    "n_init": "starts",
    "random_state": "seed",
    "path": "data",
    "n_permutations": "permutations",
    "by": "halves_by",
}


_known: ContextVar[Collection[str]] = ContextVar("options of the command at hand", default=())


class CommandError(Exception):
    """An error that one sentence explains, with the exit code it ends in."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn errors into one clear message and an exit code; ``debug`` shows the traceback.

    A parameter that is a named tuple stands for a group of options: those of its fields that are
    annotated as such.
    """
    of_function = signature(function)
    groups = {
        name: _options_of(parameter.annotation)
        for name, parameter in of_function.parameters.items()
        if hasattr(parameter.annotation, "_field_defaults")
    }
    alone = {
        name: [given.replace(kind=Parameter.KEYWORD_ONLY)]
        for name, given in of_function.parameters.items()
    }
    options = {option.name: option for some in (alone | groups).values() for option in some}

    def run(**kwargs: Any) -> None:
        for name, group in groups.items():
            values = {option.name: kwargs.pop(option.name) for option in group}
            kwargs[name] = of_function.parameters[name].annotation(**values)
        # A polite request to end is an interruption like any other: nothing half written stays.
        signal.signal(signal.SIGTERM, _interrupt)
        if callable(signal.getsignal(signal.SIGINT)):  # that of the start; what is ignored stays so
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _known.set(options)
        try:
            refuse_missing(kwargs.get("file"))
            with warnings_as_notes(kwargs.get("quiet", False)):
                function(**kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            _fail("interrupted; nothing is left half written", INTERRUPTED)
        except BrokenPipeError:
            raise typer.Exit(0) from None
        except Exception as error:
            if kwargs.get("debug"):
                raise
            _fail(*_explain(error))

    functools.update_wrapper(run, function)
    # A backspace marks lines that help must not join.
    run.__doc__ = re.sub(r"```\n(.*?)\s*```", "\b\n\\1", run.__doc__ or "", flags=re.S)
    run.__signature__ = of_function.replace(parameters=list(options.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: option.annotation for name, option in options.items()}
    return run


class OneAtATime(TyperCommand):
    """A command that says what to do with several files, of which it takes one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; what it holds beyond the command's own is refused."""
        ctx.allow_extra_args = True
        super().parse_args(ctx, args)
        if ctx.args:
            ctx.fail(
                f"one thing too many: {shlex.join(ctx.args)}. Files of one study are read together "
                "from a folder that holds nothing else: name the folder"
            )
        return ctx.args


def _options_of(group: Any) -> list[Parameter]:
    """The options of a group, as parameters of a command."""
    return [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=group._field_defaults[name], annotation=annotation
        )
        for name, annotation in get_type_hints(group, include_extras=True).items()
        if hasattr(annotation, "__metadata__")
    ]


def refuse_missing(file: Path | None) -> None:
    """Refuse a file that is not there at once, and name one that is called almost so."""
    if file is None or str(file) == "-" or ":/" in str(file) or os.path.lexists(file):
        return
    folder = file.parent
    here = os.listdir(folder) if folder.is_dir() and os.access(folder, os.R_OK) else []
    alike = get_close_matches(file.name, here, n=1)
    hint = f"; there is {file.with_name(alike[0])}" if alike else ""
    raise CommandError(f"{file}: there is no such file{hint}", UNREADABLE)


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def interrupt_again(ignored: Any) -> None:
    """Interrupt a little later what cannot be interrupted now; a hook for ignored exceptions.

    Python ignores exceptions within callbacks of C: numba has some, whenever it compiles.
    """
    if ignored.exc_type is KeyboardInterrupt:
        later = threading.Timer(AGAIN, _thread.interrupt_main, [signal.SIGTERM])
        later.daemon = True
        later.start()
    else:
        sys.__unraisablehook__(ignored)


def _explain(error: Exception) -> tuple[str, int]:
    if isinstance(error, CommandError):
        return told(error), error.code
    from ordinate._base.device import DeviceError
    from ordinate.files.datasets import DownloadError
    from ordinate.files.readers import ReadError

    if isinstance(error, ReadError):
        return _with_remedies(error), UNREADABLE
    if isinstance(error, FileExistsError) and error.errno is None:  # said of our own output
        return told(error), UNWRITABLE
    # Said of a file that is read, or was to be.
    if isinstance(error, DownloadError) or (isinstance(error, OSError) and error.errno is None):
        return told(error), UNREADABLE
    if isinstance(error, OSError):
        return f"a file cannot be read or written: {error}", UNWRITABLE
    if isinstance(error, (ValueError, MemoryError, ImportError, DeviceError)):
        return told(error), WRONG_USE
    return f"{type(error).__name__}: {error} (--debug shows where)", 1


def _with_remedies(error: "ReadError") -> str:
    """Put each remedy on a line of its own, to be pasted behind the command."""
    lines = [
        f"    {as_command_line(remedy.options)}{f'  # {remedy.when}' if remedy.when else ''}"
        for remedy in error.remedies
    ]
    say = [". Say one of" if len(lines) > 1 else ". Say"] if lines else []
    return spelled(error.what) + "".join(say) + "".join(f"\n{line}" for line in lines)


def as_command_line(options: Mapping[str, Any]) -> str:
    """Write options of Python as a shell takes them: ``{"layout": "plain"}`` as --layout plain."""
    return " ".join(_option_of(name, value) for name, value in options.items())


def _option_of(name: str, value: Any) -> str:
    option = f"--{name.replace('_', '-')}"
    if value is None or value is True or value is ...:
        return option
    if isinstance(value, Mapping):
        value = [
            f"{key}={entry}"
            for key, some in value.items()
            for entry in (some if isinstance(some, list) else [some])
        ]
    if isinstance(value, (list, tuple)):
        text = io.StringIO()
        csv.writer(text).writerow(value)  # quotes line ends, since a row ends in one
        value = text.getvalue().removesuffix("\r\n")
    return f"{option} {shlex.quote(str(value))}"


def spelled(message: str) -> str:
    """Name options as they are written here: ``layout='plain'`` is ``--layout plain``."""
    return message.spelled(_spell) if isinstance(message, Message) else message


def told(error: Exception) -> str:
    """Return what an error says, in the words of the command line."""
    return spelled(message_of(error))


def _spell(option: Option) -> str:
    """Write an option as the command at hand has it; as in Python, if it has none such."""
    for name in (RENAMED.get(option.name, option.name), option.name):
        if name in _known.get():
            return _option_of(name, option.value)
    return str(option)


def _fail(message: str, code: int) -> NoReturn:
    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(readable(message), err=True)
    raise typer.Exit(code) from None


def say(message: str, quiet: bool = False) -> None:
    """Tell on standard error."""
    if not quiet:
        typer.echo(readable(message), err=True)


def answer(text: str) -> None:
    """Say on standard output what was asked for."""
    typer.echo(readable(text))


def answer_json(record: Mapping[str, Any], indent: int | None = 2) -> None:
    """Write a record to standard output; halves of characters become escapes of JSON."""
    text = json.dumps(record, indent=indent, ensure_ascii=False)
    typer.echo(text.encode("utf-8", "backslashreplace").decode())


@contextmanager
def warnings_as_notes(quiet: bool = False) -> Iterator[None]:
    """Say warnings of Python in a line each, also if an error ends the work."""
    notes: list[str] = []
    try:
        with warnings_kept(notes):
            yield
    finally:
        for note in notes:
            say(f"note: {note}", quiet)


@contextmanager
def warnings_kept(notes: list[str]) -> Iterator[None]:
    """Add warnings of Python to notes, each once, in the words of the command line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            notes += dict.fromkeys(_said(each.message) for each in caught)


def _said(warning: Warning | str) -> str:
    return told(warning) if isinstance(warning, Warning) else spelled(warning)


class Stages:
    """Progress through stages and their steps, on standard error: a line for each that has a name.

    Attributes
    ----------
    seconds : dict of str to float
        How long each stage took.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self._quiet = quiet
        self._name = ""
        self._began = self._noted = time.perf_counter()
        self._alike: tuple[str, int] = "", 0  # the last line without its numbers, and how often

    def begin(self, name: str) -> None:
        """End the stage at hand and begin the next."""
        self.end()
        self._name, self._began = name, time.perf_counter()
        self._show(name)

    def step(self, what: str) -> None:
        """Begin a step of the stage at hand."""
        self._show(what and f"{self._name}: {what}")

    def note(self, what: str) -> None:
        """Say what is being done, but not too often."""
        now = time.perf_counter()
        if now - self._noted >= OFTEN:
            self._noted = now
            self._show(f"{self._name}: {what}")

    def end(self) -> None:
        """End the stage at hand."""
        if self._name:
            took = time.perf_counter() - self._began
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + took
        self._name = ""

    def expect(self, n_steps: int) -> None:
        """Take note of stages and steps to come; lines do not count them."""

    def _show(self, text: str) -> None:
        if not text:
            return
        alike, now = re.sub(r"\d", "", text), time.perf_counter()
        self._alike = alike, 1 + self._alike[1] * (alike == self._alike[0])
        if self._alike[1] <= MANY or now - self._noted >= OFTEN:
            self._noted = now
            say(f"{text} ...", self._quiet)


class StagesOnBar(Stages):
    """The same as a bar, with the time left."""

    def __init__(self, bar: "Progress") -> None:
        super().__init__()
        self._bar, self._task = bar, bar.add_task("", total=0)
        self._begun = self._total = 0

    def expect(self, n_steps: int) -> None:
        """Make the bar longer."""
        self._total += n_steps
        self._bar.update(self._task, total=self._total)

    def note(self, what: str) -> None:
        """Say what is being done."""
        self._bar.update(self._task, description=f"{self._name}: {what}")

    def _show(self, text: str) -> None:
        # What begins is not yet done, and what began before is.
        self._bar.update(self._task, description=text or None, completed=self._begun)
        self._begun += 1


@contextmanager
def stages(total: int, quiet: bool) -> Iterator[Stages]:
    """Show a bar on a terminal, a line per stage elsewhere, nothing if quiet."""
    from ordinate._base.progress import shown_by

    with ExitStack() as stack:
        if quiet or not sys.stderr.isatty():
            shown = Stages(quiet)
        else:
            shown = StagesOnBar(stack.enter_context(_bar()))
        stack.enter_context(shown_by(shown))
        shown.expect(total)
        yield shown


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=math.inf,  # steps may take minutes, and all of them tell how long
    )


@contextmanager
def cluster(where: str | None, quiet: bool) -> Iterator[Any]:
    """Yield a client of the cluster that was named, and say who is there; None if none was."""
    if where is None:
        yield None
        return
    from ordinate._base.cluster import Cluster, connected

    with connected(where) as client:
        n_workers = Cluster(client).n_workers
        say(f"{counted(n_workers, 'worker')}; {client.dashboard_link} shows what they do", quiet)
        yield client

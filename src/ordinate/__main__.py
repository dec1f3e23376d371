"""``ordinate`` and ``python -m ordinate``: the command line."""

import os


def main() -> None:
    """Run the command line; an interruption before a command begins ends it without a word."""
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # No exception: one in a callback of an import is printed, and goes no further.
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))
        from ordinate.cli import main as run

        run()
    except KeyboardInterrupt:
        os._exit(130)


if __name__ == "__main__":
    main()

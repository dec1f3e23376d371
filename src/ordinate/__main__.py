"""``python -m ordinate`` is the command line."""

from ordinate.cli import main

if __name__ == "__main__":
    main()

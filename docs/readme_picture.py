"""Draw README's picture anew: the figure of examples/plot_capitals.py; a test compares them."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
PICTURE = HERE / "images" / "capitals.png"


def main(path: Path) -> None:
    """Run the example and keep its figure."""
    made = runpy.run_path(str(HERE.parent / "examples" / "plot_capitals.py"))
    made["figure"].savefig(path, dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)

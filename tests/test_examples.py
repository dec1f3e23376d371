import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_demo_draws_its_picture(tmp_path, capsys):
    digits = runpy.run_path(str(EXAMPLES / "digits.py"))
    found = digits["main"](tmp_path / "new" / "digits.png", 600_000, 0)
    assert found > 0.4
    assert f"purity of 10 clusters:      {found:.3f}" in capsys.readouterr().out
    with Image.open(tmp_path / "new" / "digits.png") as picture:
        assert picture.width > 800
        # Digits in colour on white: neither blank nor black.
        dark = (np.asarray(picture.convert("L")) < 200).mean()
    assert 0.01 < dark < 0.5
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["digits.png"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.name)
def test_examples_say_what_they_do(path):
    assert path.read_text().startswith('"""')

"""Commands for tests of other things than the choice of a method."""


def plain(*words):
    """Return the words of a command as texts; a fit that names no method is by STE.

    The default tries dozens of maps to choose by: tests/test_default.py is about it.
    """
    texts = [str(word) for word in words]
    return [*texts, "--method", "ste"] if texts[0] == "fit" and "--method" not in texts else texts

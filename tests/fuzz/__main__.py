"""Run all parts, some, or single cases again; see :mod:`fuzz`."""

import argparse
import platform
import re
import sys
from collections import Counter
from importlib.metadata import version

from fuzz.parts import LONG, PARTS
from fuzz.running import Failure, Pool, names, run_case
from fuzz.shell import compile_kernels

RAISED = re.compile(r"\w+ in [\w.]+, line \d+")  # an error that was not expected, and where
ALIKE = 3  # of which so many are listed


def main() -> int:
    """Run what was asked for; return 1 if anything failed."""
    options = _options()
    if options.case:
        failures = [Failure(case, p) for case in options.case for p in run_case(case)]
        for failure in failures:
            print(f"{failure.case}: {failure.problem}")
        print(f"{len(options.case)} cases, {len({f.case for f in failures})} failed")
        return bool(failures)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pyarrow", "numba"))
    print(f"seed {options.seed}; Python {platform.python_version()}, {packages}", flush=True)
    with Pool() as pool:
        parts = options.part or [part for part, entry in PARTS.items() if entry.n_cases]
        if any(PARTS[part].limit == LONG for part in parts):
            compile_kernels()
        failed = [failure for part in parts for failure in _run(pool, part, options)]
    if failed:
        again = " ".join(dict.fromkeys(f.case for f in failed[:3]))
        print(f'failures can be run again by their names: make fuzz CASE="{again}"')
    return bool(failed)


def _run(pool: Pool, part: str, options: argparse.Namespace) -> list[Failure]:
    """Run a part, and tell how that went."""
    n_cases = options.cases or PARTS[part].n_cases
    seconds = PARTS[part].seconds if options.short else float("inf")
    result = pool.run(part, names(part, options.seed, n_cases), seconds)
    n_failed = len({failure.case for failure in result.failures})
    print(
        f"{part:10} {result.n_cases:6,} cases {n_failed:5,} failed {result.seconds:6.0f} s  "
        f"{PARTS[part].about}",
        flush=True,
    )
    alike: Counter = Counter()
    for failure in result.failures:
        kind = RAISED.match(failure.problem)
        alike[kind and kind[0]] += 1
        if alike[kind and kind[0]] <= (options.shown if kind is None else ALIKE):
            print(f"  {failure.case}: {failure.problem[:600]}", flush=True)
    for what, times in alike.items():
        if what is not None and times > ALIKE:
            print(f"  {what}: {times:,} such failures")
    return result.failures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="other seeds make other cases")
    parser.add_argument("--short", action="store_true", help="less than two minutes")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part")
    parser.add_argument("--cases", type=int, help="as many of each part")
    parser.add_argument("--case", nargs="+", help="single cases, by name, such as known:1:17")
    parser.add_argument("--shown", type=int, default=40, help="failures of a part that are listed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""Puts one-line faults into a copy of the package, and prints which the tests of its part miss.

`python tests/mutations.py [PART ...]` takes some twenty minutes for all. A fault is caught if a
test in the folder of its part fails, or does not end.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("attnexp", "conf", "docs", "hydra_plugins", "tests")
LIMIT = 600
"""Seconds after which the tests of a part do not end."""

FAULTS = (
    (
        "architectures/positions/alibi.py",
        "2 ** (-8 * head / heads)",
        "2 ** (-8 * head / (heads + 1))",
    ),
    (
        "architectures/recurrence/cells.py",
        "return W_h.roll(-alone if back else alone, dims=-2)",
        "return W_h.roll(alone, dims=-2)",
    ),
    (
        "attend/tensors.py",
        "single[~np.isfinite(single)]",
        "single[np.isnan(single)]",
    ),
    (
        "attention/alignment.py",
        "before=_at(links, gold - 1)",
        "before=_at(links, gold)",
    ),
    (
        "attention/alignment.py",
        "several = counts & (keys > 1)",
        "several = counts",
    ),
    (
        "attention/shifted.py",
        "places.cummax(dim=-1).values",
        "places",
    ),
    (
        "cards/card_file.py",
        "max(rows.get(row.label, row), row, key=seeds)",
        "rows.get(row.label, row)",
    ),
    (
        "stats/compare.py",
        "low, high = -self.high, -self.low",
        "low, high = -self.low, -self.high",
    ),
    (
        "select/judge.py",
        "more = len(one.learned) * two.n > len(two.learned) * one.n",
        "more = len(one.learned) > len(two.learned)",
    ),
    (
        "select/judge.py",
        "if one and two and (p := one.p_against(two)) <= level:",
        "if one and two and (p := one.p_against(two)) <= 2 * level:",
    ),
    (
        "claims/bounded.py",
        "for end in (low, high)}",
        "for end in (low, low)}",
    ),
    (
        "claims/escaped.py",
        "if most < self.least:",
        "if most > self.least:",
    ),
    (
        "cli/arguments.py",
        "return count(text) - 1",
        "return count(text)",
    ),
    (
        "core/errors.py",
        "get_close_matches(name.lower(), known, n=MOST_NEAR, cutoff=0.6)",
        "get_close_matches(name, known, n=MOST_NEAR, cutoff=0.6)",
    ),
    (
        "core/masks.py",
        "masked_fill(own >= 0, -torch.inf)",
        "masked_fill(own > 0, -torch.inf)",
    ),
    (
        "course/heads.py",
        'sign = -1 if chosen.better.get(asked.metric) == "lower" else 1',
        "sign = 1",
    ),
    (
        "d2l/functions.py",
        '"reduce_sum": "sum"',
        '"reduce_sum": "mean"',
    ),
    (
        "data/markov.py",
        "queries=torch.cat([torch.full_like(source, BOS), chains[:, :-1]], dim=1)",
        "queries=torch.cat([torch.full_like(source, BOS), chains[:, 1:]], dim=1)",
    ),
    (
        "data/recall.py",
        "alignments.append(2 * asked + 1)",
        "alignments.append(2 * asked)",
    ),
    (
        "data/running_text.py",
        "max(0, before - length + 1)",
        "before",
    ),
    (
        "estimators/delta.py",
        "before, shares * values.to(before.dtype), upper",
        "before, values.to(before.dtype), upper",
    ),
    (
        "imported/directions.py",
        'sides[-1] == "higher" and "lower" in sides',
        'sides[-1] == "lower" and "higher" in sides',
    ),
    (
        "imported/selection.py",
        "dict.fromkeys([selection.seed_in_name, False])",
        "[selection.seed_in_name]",
    ),
    (
        "normalizers/topk.py",
        "scores < kth",
        "scores <= kth",
    ),
    (
        "notebooks/runs.py",
        "for run in self if run.path in fits",
        "for run in self if run.path not in fits",
    ),
    (
        "plots/lines.py",
        "bool(finite.max() / factor > finite.min())",
        "bool(finite.max() > finite.min())",
    ),
    (
        "probe/effects.py",
        ".abs().sum(dim=-1) / 2",
        ".abs().sum(dim=-1)",
    ),
    (
        "report/content.py",
        "grids = zip(tables, report.grids[::2], report.grids[1::2], strict=True)",
        "grids = zip(tables, report.grids[1::2], report.grids[::2], strict=True)",
    ),
    (
        "runs/key.py",
        "value.is_integer()",
        "value > 0",
    ),
    (
        "runs/lock.py",
        "while not claim.take(RETRY):",
        "if not claim.take(RETRY):",
    ),
    (
        "scores/polynomial.py",
        "degree < 2 or degree % 2",
        "degree < 2",
    ),
    (
        "select/configurations.py",
        "ages = sorted((finished[i], not imported[i], started[i], i) for i in places)",
        "ages = sorted((not imported[i], started[i], i) for i in places)",
    ),
    (
        "select/order.py",
        '== "higher") != reverse',
        '== "higher") == reverse',
    ),
    (
        "stats/exact.py",
        "if k >= first)",
        "if k > first)",
    ),
    (
        "stats/intervals.py",
        "return max(least, low), min(most, high)",
        "return min(most, high), max(least, low)",
    ),
    (
        "stats/intervals.py",
        "return middle / factor, math.sqrt(squares / (len(numbers) - 1)) / factor",
        "return middle / factor, math.sqrt(squares / len(numbers)) / factor",
    ),
    (
        "stats/multiple.py",
        "factors = len(p) - np.arange(len(p))",
        "factors = len(p) - 0 * np.arange(len(p))",
    ),
    (
        "stats/paired.py",
        "row[seed].keys() & other[seed].keys()",
        "row[seed].keys()",
    ),
    (
        "sweeps/objective.py",
        "    return mean(values)",
        "    return max(values)",
    ),
    (
        "sweeps/search.py",
        "top = (max if self.higher else min)(found.values())",
        "top = (min if self.higher else max)(found.values())",
    ),
    (
        "select/judge.py",
        "way[unit] >= 1 - NEAR",
        "way[unit] >= NEAR",
    ),
    (
        "tasks/decoding.py",
        "F.pad(ids, (0, width - ids.shape[1]), value=spec.pad)",
        "F.pad(ids, (0, width - ids.shape[1]), value=spec.eos)",
    ),
    (
        "tasks/regression.py",
        "total / counts.expand_as(errors).sum()",
        "total / errors.numel()",
    ),
    (
        "tracing/computed.py",
        "if i not in special]",
        "if i != spec.pad]",
    ),
    (
        "trackers/guarded.py",
        "            self._working = False\n",
        "            self._working = True\n",
    ),
    (
        "training/early_stopping.py",
        "self._still >= 2",
        "self._still >= 1",
    ),
    (
        "training/schedules.py",
        "if step < rising:",
        "if step <= rising:",
    ),
)
"""A file of the package, a piece that it has once, and what takes its place."""


def main(parts: list[str]) -> int:
    """Try the faults of parts, all without any, and return how many survive."""
    chosen = [fault for fault in FAULTS if not parts or fault[0].split("/")[0] in parts]
    survivors = 0
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, copy / name)
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile"):
            shutil.copy(ROOT / name, copy / name)
        for file, right, wrong in chosen:
            caught = is_caught(copy, file, right, wrong)
            survivors += not caught
            print(f"{'caught  ' if caught else 'SURVIVES'}  {file}: {wrong}", flush=True)
    print(f"{survivors} of {len(chosen)} survive")
    return survivors


def is_caught(copy: Path, file: str, right: str, wrong: str) -> bool:
    """Return whether the tests of a part fail with a fault in one of its files."""
    path = copy / "attnexp" / file
    text = path.read_text()
    path.write_text(text.replace(right, wrong))
    tests = copy / "tests" / file.split("/")[0]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", str(tests)]
    try:
        ended = subprocess.run(
            command,
            check=False,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(text)
    return b" failed" in ended.stdout


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))

"""What `attnexp probe` stored, as metrics of tables: `probe.INTERVENTION.METRIC`."""

from collections.abc import Sequence

import msgspec

from attnexp.errors import RequestError
from attnexp.runs.folder import Run
from attnexp.runs.interventions import on_test

PREFIX = "probe."
"""How the names of these metrics begin."""


def with_probed(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """Return runs whose metrics include those of interventions that are named.

    A metric under an intervention has the unit and the direction of the metric. Raises
    RequestError for one that no run has.
    """
    asked = [name for name in dict.fromkeys(names) if name.startswith(PREFIX)]
    if not asked:
        return list(runs)
    found = [_with(run, asked) for run in runs]
    for name in asked:
        if not any(name in run.summary.metrics for run in found):
            intervention, _, _ = name.removeprefix(PREFIX).rpartition(".")
            command = f"attnexp probe RUN {intervention}".rstrip()
            raise RequestError(f"no run has the metric '{name}': `{command}` measures what it can")
    return found


def _with(run: Run, asked: Sequence[str]) -> Run:
    numbers = on_test(run.interventions)
    summary = run.summary
    metrics, better, units = dict(summary.metrics), dict(summary.better), dict(summary.units)
    for name in asked:
        intervention, _, metric = name.removeprefix(PREFIX).rpartition(".")
        value = numbers.get(intervention, {}).get(metric)
        if value is None:
            continue
        metrics[name] = value
        better |= {name: better[metric]} if metric in better else {}
        units |= {name: units[metric]} if metric in units else {}
    return Run(
        run.path, msgspec.structs.replace(summary, metrics=metrics, better=better, units=units)
    )

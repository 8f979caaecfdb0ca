"""Measures interventions on stored runs, and stores the numbers in their folders."""

from collections.abc import Sequence
from pathlib import Path

from attnexp.config.laws import read_laws
from attnexp.config.restore import restore
from attnexp.config.trust import Trust, read_trust
from attnexp.core import console
from attnexp.probe.interventions import Laws
from attnexp.probe.measure import Probe
from attnexp.runs.folder import Run
from attnexp.runs.probed import write_probed


def probe_runs(runs: Sequence[Run], names: Sequence[str], laws: Laws, trust: Trust) -> None:
    """Measure interventions on the runs of a configuration, the usual ones if none are named.

    All runs are restored before the first is measured. Raises RequestError as `restore` and `Probe`
    do, and if a folder cannot be written.
    """
    prepared = [restore(run.summary, run.folder, trust) for run in runs]
    probes = [Probe(each, names, laws) for each in prepared]
    for run, own, probe in zip(runs, prepared, probes, strict=True):
        others = [
            other.model
            for other in prepared
            if other is not own and other.dataset.spec == own.dataset.spec
        ]
        with console.progress(f"probe {run.title}", probe.passes) as advance:
            rows = probe.measure(advance, others)
        write_probed(run.folder, rows)


def lacking(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """Return the runs on which not all of these interventions were measured."""
    return [run for run in runs if set(names) - {row.intervention for row in run.interventions}]


def probe_missing(runs: Sequence[Run], names: Sequence[str], config_dir: Path | None) -> None:
    """Measure interventions as `probe_runs` does, on the runs that lack one of them.

    For cards and claims: the code of the user's configuration folder is trusted, and no other.
    """
    missing = lacking(runs, names)
    if missing:
        probe_runs(missing, names, read_laws(config_dir), read_trust([], config_dir))

"""Each verb once, on runs that have finished, and one run and one sweep."""

import json
import shutil

import pytest

from attnexp.cli.verbs import VERBS

ON_RUNS = {
    "results": ["{outputs}", "--by", "model"],
    "plot": ["{curve}", "--kind", "fit", "--output", "pictures"],
    "report": ["{outputs}", "--output", "report.html"],
    "decode": ["{rnn}", "3 1 4"],
    "verify": ["{boxcar}"],
    "probe": ["{own}", "uniform"],
    "status": ["{outputs}"],
    "diff": ["{boxcar}", "{curve}"],
    "show": ["{rnn}"],
    "attend": ["example=additive"],
    "new": ["score", "mine"],
    "claims": [],
    "card": ["--quick", "model=cosine", "--dry-run"],
    "import": ["csv", "{curve}/metrics.csv", "--settings", "epoch", "--metrics", "loss"],
    "docs": ["tour"],
    "chapter": [],
    "exercise": ["list"],
    "completion": ["bash"],
}


SLOWEST = {"card": pytest.mark.check, "report": pytest.mark.slow}


@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=SLOWEST.get(verb, ())) for verb in VERBS]
)
def test_a_verb_works(verb, finished_runs, succeeds, tmp_path):
    own = shutil.copytree(finished_runs["boxcar"], tmp_path / "own")
    places = {**finished_runs, "outputs": finished_runs["curve"].parent, "own": own}
    words = [word.format_map(places) for word in ON_RUNS[verb]]
    assert succeeds(verb, *words).stdout


def test_a_run_and_a_sweep_share_a_run(succeeds, tmp_path):
    succeeds("model=average", "figures=false")
    succeeds("-m", "model=average,gaussian", "figures=false")
    found = [json.loads(path.read_text()) for path in tmp_path.glob("outputs/*/summary.json")]
    assert sorted(each["choices"]["model"] for each in found) == ["average", "gaussian"]
    assert {each["status"] for each in found} == {"finished"}

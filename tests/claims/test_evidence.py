"""Numbers by seed, of runs and of computed points."""

import pytest

from attnexp.claims.evidence import Evidence
from attnexp.core.errors import RequestError


def test_a_detail_of_runs_is_a_number_by_its_place(loaded):
    details = {"exact_match_by_length": {"16": 0.9, "512": 0.4}}
    runs = [loaded({"seed": seed}, details=details) for seed in (0, 1)]
    assert Evidence(runs).sample("exact_match_by_length@512").means == [0.4, 0.4]
    with pytest.raises(RequestError, match="nothing has the number 'exact_match_by_length@7' yet"):
        Evidence(runs).sample("exact_match_by_length@7")
    with pytest.raises(RequestError, match="several runs of seed 0 have exact_match_by_length@16"):
        Evidence([runs[0], runs[0]]).sample("exact_match_by_length@16")
    with pytest.raises(RequestError, match="none of the 2 runs fits seed=9"):
        Evidence(runs).sample("exact_match_by_length@16", "seed=9")

"""Six finished runs that the tests share: trained once per session, and never changed."""

import json
import logging
import os
from pathlib import Path

import pytest
from filelock import FileLock

POINTS = Path(__file__).resolve().parent / "data" / "points.csv"
SMALL = (
    "data.num_train=64",
    "data.num_validation=16",
    "data.num_test=16",
    "train.max_epochs=2",
)
RUNS = {
    "curve": ("model=gaussian_learned", "train.attention_every=16"),
    "second": ("model=gaussian_learned", "seed=1"),
    "boxcar": ("model=boxcar",),
    "surface": (
        *("data=table", f"data.path={POINTS}", "data.x=[a,b]", 'data.y="c (m/s)"'),
        *("model.per_dimension=true", "train.max_epochs=5"),
    ),
    "rnn": ("data=reverse", "model=additive", "arch.hidden_dim=8", "arch.heads=2", *SMALL),
    "transformer": (
        *("data=reverse", "model=scaled_dot", "arch=transformer", "arch.dim=8"),
        *("arch.layers=2", "arch.heads=2", *SMALL),
    ),
}
"""What is typed for each, by the name that tests call it by."""


def train(folder: Path) -> None:
    """Train the six runs into `folder`/outputs, and write their folders by name to names.json."""
    from attnexp.cli.main import run

    handlers = logging.root.handlers[:]
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, words in RUNS.items():
            before = set(folder.glob("outputs/*-*"))
            assert run((*words, "figures=false")) == 0, name
            (made,) = {*folder.glob("outputs/*-*")} - before
            names[name] = f"outputs/{made.name}"
    for handler in set(logging.root.handlers) - set(handlers):
        handler.close()
    logging.root.handlers[:] = handlers
    (folder / "names.json").write_text(json.dumps(names))


@pytest.fixture(scope="session")
def finished_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the six runs, by their names in `RUNS`; tests that change one copy it.

    The processes of pytest-xdist share them: the first trains them, and the others wait for it.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / "finished"
    with FileLock(base / "finished.lock"):
        if not folder.exists():
            partial = base / "finished.partial"
            partial.mkdir()
            train(partial)
            partial.rename(folder)
    names = json.loads((folder / "names.json").read_text())
    return {name: folder / path for name, path in names.items()}

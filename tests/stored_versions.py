"""Makes the small runs below tests/runs/stored: `python tests/stored_versions.py`.

A results version has a folder. Runs of a version that has been released are never made again: that
they are found, compared, probed and verified is the promise of the version.
"""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "tests" / "runs" / "stored"

REVERSE = (
    *("data=reverse", "data.num_train=40", "data.num_validation=10", "data.num_test=5"),
    *("data.min_length=3", "data.max_length=4", "data.vocab_size=6", "data.test_max_length=null"),
    *("train.max_epochs=2", "train.attention_every=1"),
)
SMALL = ("arch.layers=1", "arch.heads=2", "arch.dim=8", "arch.ff_dim=8")
SINE = ("data.num_train=6", "data.step=0.5", "train.max_epochs=3")

COMMANDS = {
    "gaussian_learned-sine": ("seed=1", *SINE),
    "boxcar-sine": ("model=boxcar", "seed=1", "data.num_train=12", "data.step=0.5"),
    "additive-reverse": (
        *(*REVERSE, "model=additive", "model.hidden_dim=4", "arch=transformer", *SMALL),
        *("arch.dropout=0", "train=short", "train.max_epochs=2", "train.attention_every=1"),
    ),
    "rnn": (*REVERSE, "model=dot", "arch=rnn", "arch.hidden_dim=8", "arch.embed_dim=8"),
    "pooling": (*REVERSE, "model=scaled_dot", "arch=pooling", "arch.dim=8"),
    "decoder_only": (*REVERSE, "model=scaled_dot", "arch=decoder_only", *SMALL),
    "bottleneck": (*REVERSE, "model=scaled_dot", "arch=bottleneck", *SMALL[1:]),
    "own_score": ("--config-dir", "my_conf", "model=mine", "seed=1", *SINE),
}
"""The command of each run, by its folder. The own score is that of OWN."""

SWEEP = (
    *("-m", "hydra/sweeper=tuned", "model=boxcar", *SINE, "seed=1"),
    *('hydra.sweeper.tune=["model.width=1.0,2.0"]', "figures=false", "device=cpu"),
)
"""The command of a run that is tuned, and of those that tune it: the folder `tuned` holds all."""

TABLE = "model,lr,seed,test_mse\nahead,0.1,1,0.25\nahead,0.1,2,0.5\n"
IMPORT = ("import", "csv", "runs.csv", "--settings", "model,lr", "--metrics", "test_mse")
"""A table of somebody else, and the command that imports its runs: the folder `imported`."""

OWN = '''from attnexp.scores import Score


class Mine(Score):
    """a(q, k) = -|q - k|^2."""

    def compare(self, queries, keys):
        return -(queries.unsqueeze(-2) - keys.unsqueeze(-3)).square().sum(dim=-1)
'''
CHOICE = "# My own.\n_target_: my_scores.Mine\n"


OF_THE_MACHINE = dict.fromkeys(("config_dir", "host", "platform", "processor", "source"))
"""Fields of a summary that are not stored."""


def write_own(folder: Path) -> None:
    """Write the user's own score and its choice."""
    (folder / "my_conf" / "model").mkdir(parents=True)
    (folder / "my_conf" / "model" / "mine.yaml").write_text(CHOICE)
    (folder / "my_scores.py").write_text(OWN)


def main() -> None:
    """Make the runs of the current results version anew."""
    from attnexp.cli.main import run
    from attnexp.runs.key import RESULTS_VERSION
    from attnexp.runs.summary import read_summary

    def store(made: Path, name: str) -> None:
        """Copy a run, without what is of the machine."""
        shutil.copytree(made, target / name, ignore=shutil.ignore_patterns(".lock", "code.diff"))
        summary = read_summary(target / name)
        msgspec.structs.replace(summary, **OF_THE_MACHINE).write(target / name)

    target = STORED / f"v{RESULTS_VERSION}"
    shutil.rmtree(target, ignore_errors=True)
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        write_own(Path(folder))
        for name, words in COMMANDS.items():
            assert run((*words, "figures=false", "device=cpu", f"output_dir=made/{name}")) == 0
            (made,) = Path("made", name).iterdir()
            store(made, name)
        assert run((*SWEEP, "output_dir=tuned")) == 0
        Path("runs.csv").write_text(TABLE)
        assert run(IMPORT) == 0
        for kind in ("tuned", "imported"):
            for made in Path(kind).glob("*/summary.json"):
                store(made.parent, f"{kind}/{made.parent.name}")
        os.chdir(ROOT)


if __name__ == "__main__":
    main()

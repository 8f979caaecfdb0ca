"""The plan of a sweep: composed as Hydra composes, named by what a job is, each job once."""

import os
import random
import re
import sys
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import pytest
import sweeping
import torch
from hydra.errors import HydraException
from imported import python
from omegaconf import OmegaConf, open_dict

MASTERS = [
    ["seed=range(0,4)"],
    ["model=gaussian,boxcar", "seed=0,1,2", "figures=false"],
    ["model=gaussian", "model.width=1,2.5,1e-3", "data.noise=0,0.5"],
    ["model=gaussian,additive", "+data.extra=1,two,'3',null,true"],
    ["++optim.lr=0.5,0.25", "optim=adam,sgd"],
    ["optim=adam", "optim.betas=[0.9,0.99],[0.5,0.9]", "seed=1,2"],
    ["data.low=${seed},1.0", "seed=0,1"],
    ["data.high=${seed}", "seed=6,7"],
    ["output_dir='with space',b", "device=cpu,auto"],
    ["output_dir=甲,données d'été (1)", "+data.extra=choice(a b,'乙,丙','丁')", "seed=0,1"],
    ["experiment=textbook_nw", "optim.lr=0.1,0.2"],
    ["model=gaussian", "~model.width", "seed=0,1"],
    ["+model.note=a", "model.note=b,c", "seed=0,1"],
    ["hydra.sweep.subdir=${hydra.job.num}-${hydra.job.override_dirname}", "seed=3,4"],
    ["model=glob(gauss*)", "seed=choice(1,2)"],
    ["schedule=cosine", "schedule.warmup=range(0,1,0.25)"],
    ["seed=shuffle(range(3))"],
]


def plain(config):
    return OmegaConf.to_container(config, resolve=False)


@pytest.fixture
def composer(tmp_path, monkeypatch):
    """Makes the composer of a command line, and Hydra's loader beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    from attnexp.config.compose import CommandLine
    from attnexp.sweeps.plan import Composer

    def make(*arguments):
        context, master = CommandLine.read(["-m", *arguments]).composed_sweep()
        made = Composer(context, master)
        words = plain(master.hydra.overrides.task)
        return made, made.axes(words), context.config_loader, master

    return make


@pytest.fixture
def plan(composer):
    """The plan of a command line."""
    from attnexp.sweeps.plan import make_plan

    def make(*arguments, rerun=False):
        made, axes, *_ = composer(*arguments)
        return make_plan(made, axes, rerun)

    return make


@pytest.mark.first(3)
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(line, marks=pytest.mark.slow if place % 2 else (), id=" ".join(line))
        for place, line in enumerate(MASTERS)
    ],
)
def test_jobs_are_composed_as_hydra_composes_them(composer, arguments):
    import itertools

    made, axes, loader, master = composer(*arguments)
    for number, words in enumerate(itertools.product(*(axis.overrides for axis in axes))):
        planned = made.planned(axes, words, number)
        job = made.job(axes, planned)
        by_hydra = loader.load_sweep_config(master, [word.text for word in words])
        with open_dict(by_hydra.hydra):
            by_hydra.hydra.job.num, by_hydra.hydra.job.id = number, str(number)
        ours, theirs = plain(job.config), plain(by_hydra)
        assert ours["hydra"]["runtime"].pop("run_key") == planned.place.key  # which attnexp adds
        assert ours == theirs
        assert list(ours) == list(theirs)
        expected = Path(by_hydra.hydra.sweep.dir) / str(by_hydra.hydra.sweep.subdir)
        assert planned.folder == expected.absolute()


def test_a_job_stays_as_it_is_when_others_are_made(composer):
    """Jobs are made of one configuration, and are under way while it is changed for the next."""
    from attnexp.sweeps.plan import make_plan

    made, axes, _, _ = composer("seed=0,1,2", "optim.lr=0.1,0.2")
    plan = make_plan(made, axes, False)
    jobs = [made.job(axes, planned) for planned in plan.jobs]
    for planned, job in zip(plan.jobs, jobs, strict=True):
        assert job.settings == planned.settings
        assert list(job.config.hydra.overrides.task) == [word.text for word in planned.overrides]
        assert job.config.hydra.job.num == planned.number


def test_the_same_job_twice_is_one(plan):
    planned = plan("data.noise=0,1,0,1.0,2")
    assert [job.label for job in planned.jobs] == [f"data.noise={noise}" for noise in (0, 1, 2)]


def test_keys_are_the_same_in_every_process(tmp_path, plan):
    words = ("-m", "attnexp", "-m", "model=dot,additive", "seed=1", "--dry-run")
    shown = python(*words, cwd=tmp_path, PYTHONHASHSEED="1").stdout
    here = {job.place.key for job in plan("model=dot,additive", "seed=1").jobs}
    assert set(re.findall(r"-([0-9a-f]{10})\s", shown)) == here


def test_a_changed_default_is_another_job(home, fragile):
    names = []
    for seconds in ("0.0", "0.5"):
        text = sweeping.SETTINGS.replace("0.0", seconds)
        (home / "mine" / "model" / "fragile.yaml").write_text(text)
        names.append(re.findall(r"outputs/(\S+)", fragile("-m", "seed=0", "--dry-run").stdout))
    assert names[0] != names[1]


@pytest.mark.first(6)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("model=gaussian,additive model.width=1,2", "a setting of model=gaussian, not of model="),
        ("optim.lr=interval(0,1)", "names no list of values: write them"),
        ("seed=range(0)", "seed=range(0) names no value: write range(6), or a glob()"),
        ("seed=range(5,3)", "names no value"),
        ("model=glob(zzz*)", "model=glob(zzz*) names no value: write range(6), or a glob()"),
        ("seed=glob(x)", "seed=glob(x) names no value"),
        ("seed=1,range(8,12)", "a sweep among its values"),
        ("model=dot,glob(*)", "a sweep among its values"),
        ("seed=0,1 hydra.sweep.subdir=same", "'seed=0' and 'seed=1' would share the folder"),
        ("hydra/launcher=parallel hydra.launcher.n_jobs=0", "n_jobs must not be 0"),
        ("hydra/launcher=parallel hydra.launcher.n_jobs=two", "n_jobs must be a whole number"),
        ("hydra/launcher=batched hydra.launcher.size=0", "size must be 1 or more, got 0"),
        ("hydra.sweeper.max_batch_size=2", "max_batch_size is for Hydra's launchers"),
        ("hydra/launcher=joblib hydra.sweeper.max_batch_size=0", "from 1 on, got 0"),
        ("hydra/launcher=joblib hydra.sweeper.max_batch_size=-1", "from 1 on, got -1"),
        (
            "hydra.sweeper.max_batch_size=a",
            "max_batch_size must be a whole number or null, got 'a'",
        ),
        ("hydra/launcher=batched batched=false", "trains with batched=true, got batched=false"),
    ],
)
def test_what_no_sweep_can_do_is_refused_and_leaves_nothing(refused, tmp_path, words, sentence):
    assert sentence in refused("-m", *words.split())
    assert [*tmp_path.glob("outputs/*-*")] == []


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_a_launcher_that_is_not_installed_is_named_with_its_extra(refused):
    assert "is not installed: pip install 'attnexp[ray]'" in refused(
        "-m", "hydra/launcher=ray_tasks", "seed=0,1"
    )


RANGES = {
    "range(0.1,0.5,0.1)": [0.1, 0.2, 0.3, 0.4],
    "range(0,0.9,0.3)": [0.0, 0.3, 0.6],
    "range(start=0.7,stop=0.1,step=-0.2)": [0.7, 0.5, 0.3],
    "range(-0.3,.3,0.3)": [-0.3, 0.0],
    "range(1e-3,4e-3,1e-3)": [0.001, 0.002, 0.003],
    "range(0,1.5E-1,5e-2)": [0.0, 0.05, 0.1],
    "range(1.5e1,2_2.5,2.5)": [15.0, 17.5, 20.0],
    "range(0.25)": [0.0],
    "range(0.100,0.35,0.1)": [0.1, 0.2, 0.3],
    "range(1e300,3e300,1e300)": [1e300, 2e300],
    "tag(v0.01, range(0.6,0.9,0.1))": [0.6, 0.7, 0.8],
    "sort(range(0.1,0.8,0.1),reverse=true)": [0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1],
    "float(range(1,4))": [1.0, 2.0, 3.0],
    "range(1,4)": [1, 2, 3],
}


@pytest.mark.first(8)
@pytest.mark.parametrize(("typed", "values"), RANGES.items())
def test_a_range_has_the_values_that_a_list_would_have(composer, typed, values):
    _, (axis,), *_ = composer(f"+data.extra={typed}")
    assert [each.value for each in axis.overrides] == [(value,) for value in values]
    assert [each.text for each in axis.overrides] == [f"+data.extra={value}" for value in values]
    _, (listed,), *_ = composer(f"+data.extra={','.join(map(str, values))},x")
    assert listed.overrides[:-1] == axis.overrides


@pytest.mark.first(1)
@pytest.mark.parametrize("seed", range(5))
def test_any_range_has_the_values_of_whole_numbers_over_a_power_of_ten(composer, seed):
    draw = random.Random(seed)
    for _ in range(8):
        places = draw.randrange(1, 7)
        start, step, count = (
            draw.randrange(-500, 500),
            draw.randrange(1, 300),
            draw.randrange(1, 30),
        )
        stop = start + step * count
        expected = [float(Fraction(start + step * i, 10**places)) for i in range(count)]
        bounds = ",".join(f"{number}e-{places}" for number in (start, stop, step))
        _, (axis,), *_ = composer(f"+data.extra=range({bounds})")
        assert [each.value[0] for each in axis.overrides] == expected


@pytest.mark.parametrize("typed", ["range(nan,1,0.5)", "range(0,inf,0.5)", "range(0.5,1,nan)"])
def test_a_range_without_finite_bounds_is_refused(composer, typed):
    with pytest.raises(HydraException, match=r"names no list of values: (nan|inf) is not finite"):
        composer(f"+data.extra={typed}")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("estimator=delta", "is for causal self-attention alone"),
        (
            "data=reverse arch=transformer arch.heads=4,3",
            "arch.heads=3: dim must be a mul",
        ),
        ("model=dot,gaussian seed=0,1 arch.features=-1", "model=dot seed=0: features must be"),
        ("hydra/launcher=batched threads=2 seed=0", "batched=true needs threads=1"),
    ],
)
def test_a_dry_run_refuses_a_job_that_would_be_refused_before_it_trains(
    words, sentence, in_process, tmp_path
):
    answer = in_process("-m", *words.split(), "figures=false", "--dry-run")
    assert answer.returncode == 2
    assert re.search(sentence, answer.stderr)
    assert not (tmp_path / "outputs").exists()


def test_a_dry_run_for_a_launcher_of_other_machines_does_not_ask_for_their_devices(
    in_process, monkeypatch
):
    from attnexp.sweeps import schedule
    from attnexp.sweeps.launchers.local import LocalExecutor

    words = ("-m", "seed=0,1", "device=cuda", "figures=false", "--dry-run")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    assert in_process(*words).returncode == 2
    monkeypatch.setattr(schedule, "OWN_LAUNCHERS", ())
    monkeypatch.setattr(schedule, "HydraLauncherExecutor", lambda *made: LocalExecutor(made[1], 1))
    answer = in_process(*words)
    assert (answer.returncode, answer.stderr) == (0, "")

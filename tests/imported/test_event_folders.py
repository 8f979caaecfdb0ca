"""Layouts of TensorBoard's folders, as its users have them: each is the runs that it stands for."""

import struct

import pytest

from attnexp.imported.outside import ImportRequest
from attnexp.imported.selection import select
from attnexp.imported.tensorboard import read

pytest.importorskip("tensorboard", reason="tensorboard is not installed")


def write(folder, values, *, start=0, tag="loss", suffix="", purge=None):
    """Writes values by step as the real library does."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder), filename_suffix=suffix, purge_step=purge)
    for step, value in enumerate(values):
        writer.add_scalar(tag, value, start + step)
    writer.close()


def runs_of(path, **asked):
    runs, notes = read(path, ImportRequest(**asked))
    selection, decided = select(runs, ImportRequest(**asked))
    return [*selection], [*notes, *decided]


def numbers(path, **asked):
    """The final loss of each run by what tells it apart."""
    found, _ = runs_of(path, **asked)
    return {(*one.settings.values(), one.seed): one.metrics["loss"] for one in found}


def test_folders_without_settings_are_told_apart_by_their_names(tmp_path):
    wanted = {}
    for i, model in enumerate(("dot", "additive")):
        for seed in range(3):
            value = i + seed / 4
            write(tmp_path / "runs" / f"{model}_seed{seed}", [9, value])
            wanted[model, seed] = value
    found, notes = runs_of(tmp_path / "runs")
    assert numbers(tmp_path / "runs") == wanted
    assert {tuple(one.settings) for one in found} == {("run",)}
    assert "the seed is at the end of each name, as in additive_seed0" in notes
    assert sum("--name-as" in note for note in notes) == 1
    named, notes = runs_of(tmp_path / "runs", name_as="model")
    assert {one.settings["model"] for one in named} == {"dot", "additive"}
    assert not any("--name-as" in note for note in notes)


def test_a_run_with_a_failed_session_has_failed(tmp_path):
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo
    from torch.utils.tensorboard import SummaryWriter

    for name, statuses in {"ends": [1], "fails": [2, 1]}.items():  # success is 1, failure 2
        with SummaryWriter(str(tmp_path / "runs" / name)) as writer:
            writer.add_scalar("loss", 1.0, 0)
            for status in statuses:
                data = HParamsPluginData(session_end_info=SessionEndInfo(status=status))
                plugin = SummaryMetadata.PluginData(
                    plugin_name="hparams", content=data.SerializeToString()
                )
                value = Summary.Value(tag="end", metadata=SummaryMetadata(plugin_data=plugin))
                writer.file_writer.add_summary(Summary(value=[value]))
    found, _ = runs_of(tmp_path / "runs")
    ends = {one.settings["run"]: one.run.status.value for one in found}
    assert ends == {"ends": "finished", "fails": "failed"}


def test_names_without_seeds_are_runs_of_seed_0(tmp_path):
    for i, name in enumerate(("dot", "dot_s3", "runs3")):
        write(tmp_path / "runs" / name, [9, i])
    assert numbers(tmp_path / "runs") == {("dot", 0): 0, ("dot_s3", 0): 1, ("runs3", 0): 2}


def test_seeds_alone_need_no_setting(tmp_path):
    for seed in range(3):
        write(tmp_path / "runs" / f"seed{seed}", [seed])
    assert numbers(tmp_path / "runs") == {(0,): 0, (1,): 1, (2,): 2}


def test_a_restarted_run_has_the_value_of_its_last_attempt(tmp_path):
    folder = tmp_path / "runs" / "a"
    write(folder, [1.0] * 150 + [0.01], suffix=".1")
    write(folder, [0.75] * 30 + [0.47], start=100, suffix=".2")
    found, notes = runs_of(tmp_path / "runs")
    assert found[0].metrics["loss"] == pytest.approx(0.47)
    assert found[0].run.last_step == 130
    assert any("was restarted: 51 points of an earlier attempt" in note for note in notes)


@pytest.mark.parametrize("start", [100, 0])
def test_a_session_that_starts_voids_the_steps_from_its_own_on(start, tmp_path):
    folder = tmp_path / "runs" / "a"
    write(folder, [1.0] * 150 + [0.01], suffix=".1")
    write(folder, [0.5], start=start, suffix=".2", purge=start)
    found, _ = runs_of(tmp_path / "runs")
    assert found[0].metrics["loss"] == 0.5
    assert found[0].run.last_step == start


def test_two_trainings_in_one_folder_are_left_out_by_name(tmp_path):
    write(tmp_path / "runs" / "good", [3, 2])
    for suffix, length in ((".1", 9), (".2", 3)):
        write(tmp_path / "runs" / "twice", [0.5] * length, suffix=suffix)
    found, notes = runs_of(tmp_path / "runs")
    assert [one.metrics["loss"] for one in found] == [2]
    assert any("the run twice of runs holds two trainings" in note for note in notes)


def test_the_halves_of_keras_are_one_run(tmp_path):
    for model, value in (("a", 0.5), ("b", 0.25)):
        for half, more in (("train", 0), ("validation", 1)):
            folder = tmp_path / "logs" / model / half
            write(folder, [9, value + more], tag="epoch_loss")
    found, _ = runs_of(tmp_path / "logs")
    assert [(*one.settings.values(), dict(one.metrics)) for one in found] == [
        ("a", {"train/epoch_loss": 0.5, "validation/epoch_loss": 1.5}),
        ("b", {"train/epoch_loss": 0.25, "validation/epoch_loss": 1.25}),
    ]
    assert {one.primary for one in found} == {"validation/epoch_loss"}


def test_scalars_that_are_drawn_together_belong_to_their_run(tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    for name in "ab":
        writer = SummaryWriter(str(tmp_path / "runs" / name))
        for step in range(3):
            writer.add_scalars("some/loss", {"train": step, "val": 2.0 * step}, step)
        writer.close()
    found, _ = runs_of(tmp_path / "runs")
    assert [(*one.settings.values(), dict(one.metrics)) for one in found] == [
        ("a", {"some/loss/train": 2, "some/loss/val": 4}),
        ("b", {"some/loss/train": 2, "some/loss/val": 4}),
    ]


@pytest.mark.parametrize("run_name", ["x", None, "."])
def test_settings_and_results_join_their_run(run_name, tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    for seed in range(2):
        writer = SummaryWriter(str(tmp_path / "runs" / f"r{seed}"))
        for step in range(3):
            writer.add_scalar("loss", 3.0 - step + seed, step)
        settings = {"model": "rnn", "seed": seed, "none": "None"}
        writer.add_hparams(settings, {"hparam/acc": 0.25 + seed / 2}, run_name=run_name)
        writer.close()
    found, _ = runs_of(tmp_path / "runs")
    assert [(one.seed, one.settings, one.metrics) for one in found] == [
        (seed, {"model": "rnn"}, {"loss": 1.0 + seed, "hparam/acc": 0.25 + seed / 2})
        for seed in range(2)
    ]


def test_two_sets_of_settings_in_one_run_cost_a_sentence(tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    from attnexp.core.errors import RequestError

    writer = SummaryWriter(str(tmp_path / "a"))
    writer.add_scalar("loss", 1, 0)
    for lr in (0.1, 0.2):
        writer.add_hparams({"lr": lr}, {"acc": lr}, run_name=f"179557614{int(lr * 10)}.5")
    writer.close()
    with pytest.raises(RequestError, match="two sets of settings"):
        runs_of(tmp_path)


def test_steps_that_are_not_exact_are_in_no_curve(tmp_path):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path / "a"))
    for step in (1, 2, 2**53, 2**53 + 1, 2**62):
        summary = Summary(value=[Summary.Value(tag="loss", simple_value=step % 97)])
        writer.add_event(Event(step=step, summary=summary, wall_time=0.0))
    writer.close()
    found, notes = runs_of(tmp_path)
    assert [row["epoch"] for row in found[0].run.epochs] == [1, 2]
    assert found[0].metrics["loss"] == 2**62 % 97
    assert any("3 points are in no curve: their step is not below 2^53" in n for n in notes)


def test_the_numbers_are_those_of_the_event_files(tmp_path):
    """The oracle looks for each tag in the bytes, and for the float behind it."""
    write(tmp_path / "a", [0.1, 0.7])
    content = next((tmp_path / "a").glob("events*")).read_bytes()
    places = [i for i in range(len(content)) if content.startswith(b"\x0a\x04loss\x15", i)]
    floats = [struct.unpack_from("<f", content, place + 7)[0] for place in places]
    found, _ = runs_of(tmp_path)
    assert [row["loss"] for row in found[0].run.epochs] == floats

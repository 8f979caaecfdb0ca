"""`attnexp import tensorboard`: event files that the real library writes."""

import json
import struct

import numpy as np
import pytest

from attnexp.imported.checksum import crc32c

STEPS = (0, 10, 20)


def test_the_checksum_is_that_of_its_definition():
    """RFC 3720, B.4, and the check value of the catalogue of CRC algorithms."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E


@pytest.fixture
def logs(tmp_path):
    """Writes a loss by step, settings and a picture for two seeds, and returns the folder."""
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from torch.utils.tensorboard import SummaryWriter

    for seed in (0, 1):
        writer = SummaryWriter(str(tmp_path / "logs" / f"seed{seed}"))
        for step in STEPS:
            writer.add_scalar("train/loss", 2.5 - step / 10 + seed, step)
        writer.add_image("map", np.zeros((3, 40, 40), dtype=np.uint8), 20)
        settings = {"model": "rnn", "lr": 0.1, "seed": seed, "tied": True}
        writer.add_hparams(
            settings, {"accuracy": 0.5 + seed / 4}, run_name=["1795576148.29", "."][seed]
        )
        writer.close()
    return tmp_path / "logs"


def test_scalars_and_settings_come_over(logs, succeeds):
    from attnexp import load_results
    from attnexp.runs.folder import load_run

    said = succeeds("import", "tensorboard", "logs").stdout
    assert said.startswith("imported 2 runs into imported\n")
    frame = load_results("imported").sort_values("seed").reset_index(drop=True)
    assert list(frame["seed"]) == [0, 1]
    assert list(frame["model"]) == ["rnn", "rnn"]
    assert list(frame["lr"]) == [0.1, 0.1]
    assert list(frame["tied"]) == [True, True]
    assert list(frame["train/loss"]) == [0.5, 1.5]
    assert list(frame["accuracy"]) == [0.5, 0.75]
    curve = load_run(frame["folder"][1]).epochs
    assert list(curve["epoch"]) == list(STEPS)
    assert list(curve["train/loss"]) == [3.5, 2.5, 1.5]
    drawn = succeeds("plot", "imported", "--kind", "loss", "--output", "pictures").stdout
    assert drawn == "pictures/loss.png\n"
    assert "and 2 were there" in succeeds("import", "tensorboard", "logs").stdout


def test_a_tensor_of_one_number_is_a_scalar(tmp_path, succeeds):
    """As TensorFlow's tf.summary.scalar writes it, in the two ways to hold the number."""
    writers = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    writer = writers.EventFileWriter(str(tmp_path / "logs"))
    for step, tensor in enumerate(
        [
            TensorProto(dtype=1, float_val=[0.5]),
            TensorProto(dtype=1, tensor_content=struct.pack("<f", 0.25)),
            TensorProto(dtype=7, string_val=[b"text"]),
        ]
    ):
        summary = Summary(value=[Summary.Value(tag="loss", tensor=tensor)])
        writer.add_event(Event(step=step, summary=summary, wall_time=0.0))
    writer.close()
    succeeds("import", "tensorboard", "logs")
    (folder,) = (tmp_path / "imported").iterdir()
    assert (folder / "metrics.csv").read_text() == "epoch,loss\n0,0.5\n1,0.25\n"
    assert json.loads((folder / "summary.json").read_text())["metrics"] == {"loss": 0.25}


def test_a_record_that_was_cut_off_ends_the_file(logs, succeeds, tmp_path):
    file = next((logs / "seed0").glob("events*"))
    content = file.read_bytes()
    (tmp_path / "events.out.tfevents.1").write_bytes(content[: content.index(b"map")])
    succeeds("import", "tensorboard", "events.out.tfevents.1")
    (folder,) = (tmp_path / "imported").iterdir()
    assert json.loads((folder / "summary.json").read_text())["metrics"] == {"train/loss": 0.5}


def test_every_changed_byte_costs_a_sentence(logs, tmp_path):
    from attnexp.core.errors import RequestError
    from attnexp.imported.outside import ImportRequest
    from attnexp.imported.tensorboard import read

    content = min((logs / "seed1").glob("events*")).read_bytes()
    end = 0
    for _ in range(4):  # the version, and three losses
        end += 16 + int.from_bytes(content[end : end + 8], "little")
    content = content[:end]
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(content)
    ((run,), _) = read(path, ImportRequest())
    assert run.metrics == {"train/loss": 1.5}
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        with pytest.raises(RequestError, match="is not an event file, or damaged"):
            read(path, ImportRequest())


def test_other_content_costs_a_sentence(refused, tmp_path):
    (tmp_path / "text.csv").write_text("loss\n" * 20)
    assert "is not an event file" in refused("import", "tensorboard", "text.csv")
    (tmp_path / "none").mkdir()
    assert "holds no runs" in refused("import", "tensorboard", "none")

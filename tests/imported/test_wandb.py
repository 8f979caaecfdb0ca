"""`attnexp import wandb`: offline files, written here field by field."""

import json
import math
import struct
import zlib

import pytest
from wire_messages import entry as field

BLOCK = 32768


def items(number, values):
    return b"".join(
        field(number, field(1, name) + field(16, json.dumps(value)))
        for name, value in values.items()
    )


def nested(number, path, value):
    names = b"".join(field(2, name) for name in path)
    return field(number, names + field(16, json.dumps(value)))


def history(step, values):
    return field(2, items(1, {**values, "_runtime": 1.5}) + field(2, field(1, step)))


def written(records):
    """Returns a file of these records, cut into pieces at the ends of the blocks."""
    content = b":W&B" + bytes([0xE1, 0xBE, 0])
    for record in records:
        first, rest = True, record
        while True:
            left = BLOCK - len(content) % BLOCK
            if left < 7:
                content += bytes(left)
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[
                first, not rest
            ]
            check = zlib.crc32(bytes([kind]) + piece)
            content += struct.pack("<IHB", check, len(piece), kind) + piece
            first = False
            if not rest:
                break
    return content


def records(seed, code=0, long=0):
    config = items(
        1, {"model": "rnn", "seed": seed, "_wandb": {"cli": 1}, "late": 1, "cut": math.inf}
    )
    yield field(1, 1) + field(21, b"")
    yield field(
        17,
        field(1, f"id{seed}")
        + field(8, f"name{seed}")
        + field(4, config)
        + field(17, field(1, 1_767_225_600)),
    )
    yield field(5, nested(1, ["optim", "lr"], 0.1) + items(2, {"late": None}))
    for step in (0, 10, 20):
        values = {"loss": 2.5 - step / 10 + seed, "text": "x" * long}
        yield history(step, values)
    picture = {"_type": "image-file", "height": 40, "width": 40}
    yield field(3, items(1, {"best": 0.25, "gone": 1, "map": picture, "_step": 20}))
    drawn = {"_type": "image-file", "width": 40}
    yield field(3, b"".join(nested(1, ["fit", name], value) for name, value in drawn.items()))
    yield field(3, nested(1, ["val", "acc"], 0.75) + items(2, {"gone": None}))
    if code is not None:
        yield field(18, field(1, code))


@pytest.fixture
def folder(tmp_path):
    for seed, code in enumerate((0, 0, 1, None)):
        place = tmp_path / "wandb" / f"offline-run-{seed}"
        place.mkdir(parents=True)
        content = written(records(seed, code, long=[3, 12_000, 32_700, 80_000][seed]))
        (place / f"run-id{seed}.wandb").write_bytes(content)
    return tmp_path / "wandb"


def test_configuration_history_and_summary_come_over(folder, succeeds):
    from attnexp import load_results
    from attnexp.runs.folder import load_run

    said = succeeds("import", "wandb", "wandb").stdout
    assert said.startswith("imported 4 runs into imported\n")
    frame = load_results("imported").sort_values("seed").reset_index(drop=True)
    assert list(frame["status"]) == ["finished", "finished", "failed", "interrupted"]
    assert not [name for name in frame if str(name).startswith(("fit", "map"))]
    assert list(frame["model"]) == ["rnn"] * 4
    assert list(frame["optim.lr"]) == [0.1] * 4
    assert list(frame["cut"]) == ["inf"] * 4
    assert list(frame["loss"]) == [0.5, 1.5, 2.5, 3.5]
    assert list(frame["best"]) == [0.25] * 4
    assert list(frame["val.acc"]) == [0.75] * 4
    assert frame["started"][0] == "2026-01-01T00:00:00+00:00"
    assert frame["error"][2] == "it ended with code 1"
    assert not {"gone", "late", "map.height", "_step", "text"} & set(frame.columns)
    curve = load_run(frame["folder"][3]).epochs
    assert list(curve["epoch"]) == [0, 10, 20]
    assert list(curve["loss"]) == [5.5, 4.5, 3.5]
    assert "and 4 were there" in succeeds("import", "wandb", "wandb").stdout
    drawn = succeeds("plot", "imported", "--kind", "loss", "--output", "pictures").stdout
    assert "pictures/loss.png\n" in drawn


def test_a_record_that_was_cut_off_ends_the_file(tmp_path, succeeds):
    content = written([*records(0)])
    (tmp_path / "run-a.wandb").write_bytes(content[:-5])
    succeeds("import", "wandb", "run-a.wandb")
    (summary,) = (tmp_path / "imported").glob("*/summary.json")
    found = json.loads(summary.read_text())
    assert found["status"] == "interrupted"
    assert found["metrics"] == {"loss": 0.5, "best": 0.25, "val.acc": 0.75}


def test_every_changed_byte_costs_a_sentence_or_ends_the_file(tmp_path):
    from attnexp.core.errors import RequestError
    from attnexp.imported.outside import ImportRequest
    from attnexp.imported.wandb import read

    content = written([*records(0)])
    path = tmp_path / "run-a.wandb"
    path.write_bytes(content)
    ((run,), _) = read(path, ImportRequest())
    assert run.status == "finished"
    unnoticed = 0
    for place in [*range(4), *range(7, len(content))]:
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            ((run,), _) = read(path, ImportRequest())
        except RequestError:
            continue
        unnoticed += 1
        assert run.status == "interrupted"
    assert unnoticed < 20


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (field(2, field(1, field(1, "loss") + field(16, "{"))), "a value that is not JSON"),
        (field(2, items(1, {"_step": "two", "loss": 1})), "a step that is 'two'"),
        (b"\x12\x05ab", "a field that is cut off"),
        (b"\xff" * 11, "a number that is cut off"),
        (b"\x0f", "a field of kind 7"),
    ],
)
def test_wrong_messages_cost_a_sentence(record, sentence, refused, tmp_path):
    (tmp_path / "run-a.wandb").write_bytes(written([record]))
    said = refused("import", "wandb", "run-a.wandb")
    assert "run-a.wandb is not a run of wandb, or damaged" in said
    assert sentence in said


def test_other_files_cost_a_sentence(refused, tmp_path):
    (tmp_path / "text").write_text("loss\n" * 9)
    assert "it has another beginning" in refused("import", "wandb", "text")
    (tmp_path / "none").mkdir()
    assert "holds no runs" in refused("import", "wandb", "none")


def test_files_of_one_run_are_one_run(tmp_path, succeeds):
    """A run that died at step 20 and was resumed at 10, as three files."""
    described = field(17, field(1, "id0") + field(8, "name0"))
    config = field(5, items(1, {"seed": 0}))
    parts = [
        [described, config, history(0, {"loss": 3.0}), history(20, {"loss": 0.25})],
        [described, history(10, {"loss": 2.0})],
        [described, history(15, {"loss": 1.0}), field(18, field(1, 0))],
    ]
    for number, part in enumerate(parts):
        (tmp_path / f"run-{number}.wandb").write_bytes(written(part))
    done = succeeds("import", "wandb", ".")
    assert "imported 1 run" in done.stdout
    assert "was restarted: 1 points of an earlier attempt" in done.stdout + done.stderr
    (folder,) = (tmp_path / "imported").iterdir()
    found = json.loads((folder / "summary.json").read_text())
    assert (found["status"], found["metrics"]) == ("finished", {"loss": 1.0})
    assert (folder / "metrics.csv").read_text() == "epoch,loss\n0,3.0\n10,2.0\n15,1.0\n"

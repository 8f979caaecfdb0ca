"""The plan of a sweep on disk."""

from attnexp.runs.plan_file import PLANS, StoredPlan, read_plans


def test_a_plan_is_read_as_it_was_written(tmp_path):
    plan = StoredPlan.of(tmp_path, [tmp_path / "b", tmp_path / "deep" / "a"])
    plan.write()
    assert list(read_plans(tmp_path)) == [plan]
    assert set(plan.jobs) == {"b", "deep/a"}


def test_all_who_work_on_the_same_jobs_have_the_same_file(tmp_path):
    one = StoredPlan.of(tmp_path, [tmp_path / "a", tmp_path / "b"])
    same = StoredPlan.of(tmp_path, [tmp_path / "b", tmp_path / "a"])
    other = StoredPlan.of(tmp_path, [tmp_path / "a"])
    for plan in (one, same, other):
        plan.write()
    assert len(list(read_plans(tmp_path))) == 2
    one.remove()
    same.remove()
    assert list(read_plans(tmp_path)) == [other]
    other.remove()
    assert not (tmp_path / PLANS).exists()


def test_what_is_no_plan_is_named_and_the_others_are_read(tmp_path):
    plan = StoredPlan.of(tmp_path, [tmp_path / "a"])
    plan.write()
    for name, content in {"x": b"\xff", "y": b'{"jobs": 3}', "z": b"[" * 100_000}.items():
        (tmp_path / PLANS / f"{name}.json").write_bytes(content)
    (tmp_path / PLANS / "folder.json").mkdir()
    found = list(read_plans(tmp_path))
    assert [each for each in found if isinstance(each, StoredPlan)] == [plan]
    assert sorted(str(each).partition(" is not ")[2] for each in found if each != plan) == [
        "a file",
        "the plan of a sweep",
        "the plan of a sweep",
        "the plan of a sweep",
    ]

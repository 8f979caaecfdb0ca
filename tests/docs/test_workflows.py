"""The workflows of the host fit the project: its Pythons, its targets, one wheel, one publisher."""

import re
import tomllib

import yaml
from conftest import ROOT

CI, RELEASE = (
    yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())["jobs"]
    for name in ("ci", "release")
)


def lines(job: dict) -> list[str]:
    return [step["run"] for step in job.get("steps", ()) if "run" in step]


def test_every_python_that_the_package_names_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert CI["tests"]["strategy"]["matrix"]["python"] == named


def test_targets_of_make_are_there():
    made = [line.split()[1:] for job in CI.values() for line in lines(job) if line[:5] == "make "]
    assert made == [["lint", "types", "docs"], ["${{", "matrix.target", "}}"]]
    scheduled = CI["versions"]["strategy"]["matrix"]["target"]
    makefile = (ROOT / "Makefile").read_text()
    names = [*made[0], *scheduled]
    assert all(re.search(f"^{name}:", makefile, re.MULTILINE) for name in names)


def test_every_environment_of_its_own_is_tested_each_week():
    makefile = (ROOT / "Makefile").read_text()
    own = re.findall(r"^\t\.venv-([\w-]+)/bin/python .*(?:pytest|TESTS)", makefile, re.MULTILINE)
    scheduled = CI["versions"]["strategy"]["matrix"]["target"]
    assert sorted(scheduled) == sorted(f"test-{name}" for name in own)
    assert CI["versions"]["if"] == "github.event_name == 'schedule'"


def test_the_wheel_is_built_once_and_tested_before_it_is_published():
    built = [name for name, job in CI.items() if any("-m build" in line for line in lines(job))]
    assert built == ["wheel"]
    assert CI["tests"]["needs"] == "wheel"
    assert RELEASE["ci"]["uses"] == "./.github/workflows/ci.yml"
    assert RELEASE["publish"]["needs"] == "ci"


def test_only_the_publisher_asks_for_a_token():
    jobs = {**CI, **RELEASE}
    asked = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    assert asked == {"publish": {"id-token": "write"}}

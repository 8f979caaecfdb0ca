"""The environment of `make test-lowest` has the lower bounds of pyproject.toml."""

import re
import tomllib

import pytest
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = (
    *("dates", "text", "venues", "completion", "nile"),
    *("joblib", "slurm", "tensorboard", "exercises"),
)


def pins(name: str) -> dict[str, Version]:
    """The version of each package in a file of constraints."""
    text = re.sub("^#.*", "", (ROOT / name).read_text(), flags=re.MULTILINE)
    pairs = (line.split("==") for line in text.split())
    return {canonicalize_name(package): Version(version) for package, version in pairs}


@pytest.mark.parametrize(
    "line",
    [
        *PROJECT["dependencies"],
        *(line for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra]),
    ],
)
def test_a_lower_bound_is_the_version_that_is_tested(line):
    needed = Requirement(line)
    pinned = pins("constraints-lowest.txt")[canonicalize_name(needed.name)]
    if needed.name == "torch":
        assert pinned == pins("constraints.txt")["torch"]
    else:
        (lowest,) = (each.version for each in needed.specifier if each.operator == ">=")
        assert pinned == Version(lowest)

"""The built wheel, installed elsewhere, works from any directory."""

import os
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from imported import python


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with what the wheel holds, as pip would unpack it."""
    wheels = tmp_path_factory.mktemp("wheels")
    built = python("-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("*.whl")
    site = tmp_path_factory.mktemp("site")
    installed = python("-m", "pip", "install", "--no-deps", "--target", site, wheel)
    assert installed.returncode == 0, installed.stderr
    return site


def run(site, folder, *arguments):
    """The installed console script, with the checkout out of sight."""
    places = os.pathsep.join([str(site), *libraries()])
    return python("-S", site / "bin" / "attnexp", *arguments, cwd=folder, PYTHONPATH=places)


def libraries():
    """Where the dependencies are; without site's .pth files, so not an editable attnexp."""
    return [path for path in sys.path if path.endswith("site-packages")]


def files(folder):
    """The files below a folder, by their paths in it, without what Python compiles."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path for path in found if path.suffix != ".pyc"}


def test_the_wheel_holds_the_package_every_configuration_and_every_document(site):
    conf = {Path("conf") / path for path in files(ROOT / "conf")}
    docs = files(ROOT / "docs")
    pages = {path for path in docs if path.suffix == ".md"}
    documents = {Path("documents") / path for path in pages}
    assert files(site / "attnexp") == files(ROOT / "attnexp") | conf | documents


def test_the_wheel_says_that_it_is_typed_and_has_its_licence(site):
    assert (site / "attnexp" / "py.typed").is_file()
    (licence,) = site.glob("attnexp-*.dist-info/licenses/LICENSE")
    assert licence.read_text() == (ROOT / "LICENSE").read_text()


def test_the_installed_command_runs_elsewhere(site, tmp_path):
    answer = run(site, tmp_path, "model=additive", "train.max_epochs=2", "figures=false")
    assert answer.returncode == 0, answer.stderr
    assert len(list(tmp_path.glob("outputs/*/summary.json"))) == 1
    assert str(ROOT) not in run(site, tmp_path, "--info", "searchpath").stdout
    table = run(site, tmp_path, "results")
    assert "additive" in table.stdout


def test_an_installed_document_is_printed(site, tmp_path):
    answer = run(site, tmp_path, "docs", "pooling")
    assert answer.stdout == (ROOT / "docs" / "course" / "pooling.md").read_text()


@pytest.mark.slow
def test_an_installed_claim_computes_by_its_own_py(site, tmp_path):
    answer = run(site, tmp_path, "claims", "one_symbol_fades")
    assert answer.returncode == 0, answer.stderr
    assert re.search("^verdict +reproduced$", answer.stdout, re.MULTILINE)
    assert list(tmp_path.glob("outputs/claims/one_symbol_fades/computed.json"))

"""The built wheel, installed elsewhere, works from any directory."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with what the wheel holds, as pip would unpack it."""
    wheels = tmp_path_factory.mktemp("wheels")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, ROOT],
        check=True,
        capture_output=True,
        timeout=120,
    )
    (wheel,) = wheels.glob("*.whl")
    site = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--target", site, wheel],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return site


def run(site, folder, *arguments):
    """The installed console script, with the checkout out of sight."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *libraries()])}
    return subprocess.run(
        [sys.executable, "-S", site / "bin" / "attnexp", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def libraries():
    """Where the dependencies are; without site's .pth files, so not an editable attnexp."""
    return [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]


def test_the_wheel_holds_every_configuration(site):
    shipped = {
        path.relative_to(site / "attnexp" / "conf").as_posix()
        for path in (site / "attnexp" / "conf").rglob("*.yaml")
    }
    assert shipped == {p.relative_to(ROOT / "conf").as_posix() for p in ROOT.glob("conf/**/*.yaml")}


def test_the_wheel_holds_the_sentences_that_ship(site):
    own = ROOT / "attnexp" / "data" / "files" / "english_french.tsv"
    assert (site / own.relative_to(ROOT)).read_bytes() == own.read_bytes()


def test_the_wheel_holds_the_course(site):
    def files(course):
        return {
            path.relative_to(course).as_posix()
            for path in course.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    assert files(site / "attnexp" / "course") == files(ROOT / "attnexp" / "course")


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

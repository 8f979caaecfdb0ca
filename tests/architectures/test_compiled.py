"""The place where the compiled steps are kept, and compilers that do not make them."""

import os
import shutil
import time
from pathlib import Path

import pytest

from attnexp.architectures import compiled as place
from attnexp.architectures.compiled import NoLibraryError, compiled, remember

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")


@pytest.fixture
def empty_cache(unasked, tmp_path, monkeypatch):
    """A cache without a library, a process that knows of none, and a source that is soon compiled.

    Numbers in the source make the library longer than a page of memory.
    """
    source = tmp_path / "small.c"
    numbers = f"const int numbers[5000] = {{{','.join(map(str, range(5000)))}}};\n"
    source.write_text(numbers + "".join(f"int {name}() {{}}\n" for name in place.FUNCTIONS))
    monkeypatch.setattr(place, "SOURCE", source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "attnexp"


@pytest.fixture
def asked_again(empty_cache):
    """Asks as a new process does; returns the file, or the text of the error."""

    def ask() -> Path | str:
        remember(None)
        try:
            return compiled().path
        except NoLibraryError as error:
            return str(error)

    return ask


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Puts a script in the place of cc. Returns the command lines that it has been given."""
    calls = tmp_path / "calls"

    def script(text: bytes | str) -> Path:
        path = tmp_path / "bin" / "cc"
        path.parent.mkdir()
        body = text.encode() if isinstance(text, str) else text
        path.write_bytes(b'#!/bin/sh\necho "$*" >> ' + bytes(calls) + b"\n" + body)
        path.chmod(0o700)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
        return calls

    return script


VERSION = 'if [ "$1" = --version ]; then echo cc 1.2.3; exit; fi\n'
REAL = f'exec {shutil.which("cc")} "$@"\n'


def exit_codes(number, work):
    """The exit codes of processes that do the same at once."""
    children = []
    for _ in range(number):
        child = os.fork()
        if child == 0:
            try:
                work()
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    return [os.waitpid(child, 0)[1] for child in children]


def test_ten_processes_compile_at_once(empty_cache, asked_again):
    assert exit_codes(10, compiled) == [0] * 10
    (file,) = empty_cache.iterdir()
    assert file.suffix == ".so"
    before = file.stat().st_mtime_ns
    assert asked_again() == file
    assert file.stat().st_mtime_ns == before


def test_a_library_that_was_cut_off_is_compiled_anew(empty_cache, asked_again):
    """To load it would end the process by SIGBUS."""
    file = asked_again()
    whole = file.read_bytes()
    flipped = bytes([*whole[:-9], whole[-9] ^ 1, *whole[-8:]])
    cuts = [whole[:length] for length in (0, 64, 1000, 4096, 8192, len(whole) // 2, -1)]
    for wrong in [*cuts, flipped, whole + b"\0"]:
        file.unlink()
        file.write_bytes(wrong)
        file.chmod(0o700)
        assert exit_codes(1, lambda: asked_again().read_bytes() == whole or os._exit(2)) == [0]
        assert [path.read_bytes() for path in empty_cache.iterdir()] == [whole]


@pytest.mark.parametrize("kind", ["pipe", "sparse"])
def test_what_no_library_is_in_its_place_is_replaced_unread(empty_cache, asked_again, kind):
    file = asked_again()
    whole = file.read_bytes()
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file, 0o700)
    else:
        file.touch(0o700)
        os.truncate(file, 2**42)
    assert asked_again().read_bytes() == whole


def test_a_library_is_not_loaded_that_changes_before_it_is_loaded(asked_again):
    asked_again()
    found = compiled()
    whole = found.path.read_bytes()
    found.path.unlink()  # this process has loaded it
    found.path.write_bytes(whole[:4096])
    found.path.chmod(0o700)
    with pytest.raises(NoLibraryError, match="is not as it was compiled"):
        found.load()


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_that_others_can_write_is_not_used(empty_cache, asked_again, mode):
    empty_cache.mkdir(parents=True)
    empty_cache.chmod(mode)
    assert "can be written by others" in asked_again()


def test_a_library_that_others_can_write_is_not_loaded(asked_again):
    file = asked_again()
    file.chmod(0o722)
    assert f"{file.name} can be written by others" in asked_again()
    other = file.with_name("other")
    file.rename(other)
    file.symlink_to(other)
    assert "is a symbolic link" in asked_again()


def test_a_cache_in_a_folder_of_all_is_not_used(empty_cache, asked_again):
    empty_cache.parent.mkdir()
    empty_cache.parent.chmod(0o777)
    assert "can be written by others" in asked_again()
    empty_cache.parent.chmod(0o1777)
    assert asked_again().parent == empty_cache


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077, 0o277])
def test_folders_that_are_made_can_be_used(empty_cache, asked_again, monkeypatch, mask):
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty_cache / "new" / "cache"))
    before = os.umask(mask)
    try:
        file = asked_again()
    finally:
        os.umask(before)
    made = [file, *file.relative_to(empty_cache.parent).parents]
    assert isinstance(file, Path)
    assert {(empty_cache.parent / each).stat().st_mode & 0o777 for each in made[:-1]} == {0o700}


def test_a_process_without_a_home_folder_says_so(asked_again, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "expanduser", _without_home)
    assert asked_again() == "there is no home folder: set XDG_CACHE_HOME"


def _without_home(path):
    raise RuntimeError(f"Could not determine home directory of {path}.")


@pytest.mark.parametrize("name", ["x" * 300, "file", "file/below", "loop"])
def test_a_cache_that_cannot_be_made_says_so(tmp_path, asked_again, monkeypatch, name):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    assert "cannot be used: " in asked_again()


def test_a_system_without_owners_of_files_is_not_asked(asked_again, monkeypatch):
    monkeypatch.delattr(os, "getuid")
    assert asked_again() == "the steps are not compiled on Windows"


def test_a_source_that_does_not_compile_leaves_nothing(empty_cache, asked_again):
    place.SOURCE.write_text("int steps(\n")
    assert "cc does not compile the steps: " in asked_again()
    assert str(place.SOURCE) in asked_again()
    assert list(empty_cache.iterdir()) == []


def test_a_compiler_may_print_bytes_that_are_no_text(asked_again, compiler):
    compiler(b'[ "$1" = --version ] && { echo "cc \351\377 12.2.0"; exit; }\n' + REAL.encode())
    assert isinstance(asked_again(), Path)
    assert compiled().compiler == "cc 12.2.0"


def test_a_complaint_may_be_bytes_that_are_no_text(asked_again, compiler):
    compiler(VERSION.encode() + b'echo "erreur d\351tect\351e" >&2; exit 1\n')
    assert asked_again().endswith("cc does not compile the steps: erreur d\ufffdtect\ufffde")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3\n", "does not compile the steps: exit code 3"),
        (VERSION, "has compiled nothing"),
        (f"{VERSION}kill -9 $$\n", "does not compile the steps: exit code -9"),
    ],
)
def test_a_compiler_that_fails_is_named(empty_cache, asked_again, compiler, script, said):
    compiler(script)
    assert asked_again().endswith(f"bin/cc {said}")
    assert not empty_cache.exists() or list(empty_cache.iterdir()) == []


def test_a_compiler_that_cannot_be_run_is_named(asked_again, compiler, tmp_path):
    compiler("")
    (tmp_path / "bin" / "cc").write_bytes(b"\177ELF")
    assert asked_again().endswith("bin/cc cannot be used: Exec format error")


def test_a_compiler_that_hangs_is_ended_and_asked_once(empty_cache, compiler, monkeypatch):
    monkeypatch.setattr(place, "SECONDS", 0.2)
    calls = compiler("sleep 77 &\necho $! >> calls.of.sleep\nwait\n")
    monkeypatch.chdir(calls.parent)
    for _ in range(3):
        with pytest.raises(NoLibraryError, match=r"bin/cc has not answered in 0\.2 seconds"):
            compiled()
    assert calls.read_text() == "--version\n"
    started = Path("calls.of.sleep").read_text().strip()
    end = time.monotonic() + 5
    while b"77" in _command(started) and time.monotonic() < end:
        time.sleep(0.01)
    assert b"77" not in _command(started)


def _command(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def test_what_the_system_does_not_load_is_not_compiled_again(asked_again, compiler):
    """As in a folder that is mounted with noexec, or where a function is missing."""
    calls = compiler(f'{VERSION}while [ "$1" != -o ]; do shift; done\necho no library > "$2"\n')
    for _ in range(2):
        assert ".so cannot be loaded: " in asked_again()
    assert [line.split()[0] for line in calls.read_text().splitlines()] == [
        *("--version", "-O3", "--version"),
    ]


def test_a_library_without_a_function_is_refused(asked_again, monkeypatch):
    monkeypatch.setattr(place, "FUNCTIONS", ("scan", "another"))
    assert "another" in asked_again()

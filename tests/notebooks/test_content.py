"""Notebooks over run folders work from top to bottom, and a folder puts no code into them."""

import ast
import shutil

import nbformat
import pytest
from conftest import ROOT

STORED = ROOT / "tests" / "runs" / "stored"
FOLDERS = [
    pytest.param(STORED / "gaussian_learned-sine", id="regression"),
    pytest.param(STORED / "additive-reverse", id="sequences"),
]
HOSTILE = '`x` $y$ <img src=x> [a](javascript:b) \']);import os#\n# """ |'


def execute(notebook):
    """What the cells show that have something to show, run in order in one namespace."""
    names, shown = {}, []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "cell", "exec"), names)
            if last is not None:
                shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    return shown


@pytest.fixture
def written(in_process, tmp_path):
    """Writes a notebook with the verb and reads it again, as is valid in its format."""

    def write(*arguments):
        answer = in_process("notebook", *map(str, arguments), "--output", "n.ipynb")
        assert answer.returncode == 0, answer.stderr
        notebook = nbformat.read(tmp_path / "n.ipynb", as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        return notebook

    return write


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_cells_work(written, folder):
    notebook = written(folder)
    first, *others = execute(notebook)
    assert first.folder.samefile(folder)
    differences = [
        value
        for one in others
        for value in (one.values() if isinstance(one, dict) else [one])
        if isinstance(value, float) and value < 1e-6
    ]
    assert len(differences) >= 2
    assert "## Questions" in "".join(cell.source for cell in notebook.cells)


def test_the_cells_about_several_runs_work(written, regression_run, sequence_run, tmp_path):
    for seed in (0, 1):
        regression_run(f"all/{seed}", seed=seed)
    runs, table, statistics, *pictures = execute(written("all"))
    assert len(runs) == len(table) == 2
    assert statistics["count"].tolist() == [2]
    assert len(pictures) == 3
    sequence_run("all/words")
    assert len(execute(written("all"))) == 4  # on other data: they share no picture


def test_runs_without_their_primary_metric_or_with_damaged_files(written, regression_run):
    for seed, primary in enumerate(["model", "nope"]):
        folder = regression_run(f"all/{seed}", seed=seed, primary=primary)
    (folder / "attention.safetensors").write_bytes(b"x")
    notebook = written("all")
    assert len(execute(notebook)) == 3
    assert "It cannot be drawn: `no attention: " in "".join(c.source for c in notebook.cells)


@pytest.mark.parametrize("losses", [(), (1.0,)])
def test_what_a_run_lacks_is_left_out(written, regression_run, losses):
    folder = regression_run(losses=losses, metrics={}, status="failed")
    (folder / "attention.safetensors").unlink()
    (folder / "predictions.csv").unlink()
    found = len(execute(written(folder)))
    assert found == 3 if not losses else found >= 5  # and each picture that losses allow


def test_a_model_that_cannot_be_built_is_said(written, regression_run):
    notebook = written(regression_run(settings={"model._target_": "foreign_score.Mine"}))
    assert execute(notebook)
    (sentence,) = [c.source for c in notebook.cells if "cannot be computed here" in c.source]
    assert "add '--trust foreign_score'" in sentence


def test_nothing_in_a_folder_becomes_code(written, regression_run, tmp_path):
    folder = regression_run(
        'it\'s "x"\\n`', choices={"model": HOSTILE, "data": HOSTILE}, config={"seed": 0}
    )
    honest = written(regression_run("plain", config={"seed": 0}))
    notebook = written(folder)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    same = [cell.source for cell in honest.cells if cell.cell_type == "code"]
    different = [pair for pair in zip(sources, same, strict=True) if pair[0] != pair[1]]
    ((loading, _),) = different
    call = ast.parse(loading).body[1].value
    assert ast.literal_eval(call.args[0]) == folder.name
    title = notebook.cells[0].source
    assert title.count("`") == 4
    assert title.count("\n") == 0
    assert execute(notebook)


def test_a_notebook_finds_its_run_from_its_own_folder(in_process, regression_run, tmp_path):
    regression_run("outputs/a")
    (tmp_path / "notes").mkdir()
    assert in_process("notebook", "outputs/a", "--output", "notes/n.ipynb").returncode == 0
    assert "load_run('../outputs/a')" in (tmp_path / "notes" / "n.ipynb").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_jupyter_executes_it(written, folder, tmp_path):
    from nbclient import NotebookClient

    shutil.copytree(folder, tmp_path / "run")
    notebook = written("run")
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert {out.output_type for out in outputs} == {"execute_result"}
    kinds = {kind for out in outputs for kind in out.data}
    assert {"text/html", "image/png", "text/plain"} <= kinds

"""The request of a command line and of a file, before anything is computed."""

import pytest

from attnexp.attend.request import TENSORS, read_request
from attnexp.cli.parser import parser_of
from attnexp.core.errors import RequestError

QUERIES = ("--queries", "ones:2")
PAIR = (*QUERIES, "--keys", "ones:3")


def requested(*argv):
    arguments = parser_of("attend").parse(argv)
    typed = {name: own for name in TENSORS if (own := getattr(arguments, name)) is not None}
    return read_request(arguments.words, typed, arguments.file)


def test_the_command_line_goes_before_a_file(tmp_path):
    file = tmp_path / "case.yaml"
    file.write_text("# Mine.\nmodel: dot\nqueries: [[1]]\nkeys: keys.npy\nseed: 5\n")
    request = requested("--from", str(file), "--keys", "-1,0,1", "seed=6", "model.scale=2")
    assert request.title == "Mine."
    assert request.settings == {"model": "dot", "seed": "6", "model.scale": "2"}
    assert {name: str(own).strip() for name, own in request.tensors.items()} == {
        "queries": "[[1]]",
        "keys": "-1,0,1",
    }
    assert request.tensors["queries"].where == "case.yaml: queries"
    assert request.tensors["queries"].folder == tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--queries and --keys must be given"),
        (QUERIES, "--keys must be given"),
        ((*PAIR, "--scores", "1"), "scores are given, so that queries have no effect"),
        (
            ["example=additiv"],
            "'additiv' is not a choice. Did you mean 'additive'.* Choose additive, ",
        ),
        (["example=additive", "--from", "x.yaml"], "exclude each other: omit one"),
        (["additive"], "'additive' is not a setting: write name=value"),
        ((*PAIR, "data=sine"), "'data' has no effect here: choose model, model.NAME"),
        ((*PAIR, "model._target_=os.system"), "'model._target_' has no effect here"),
        ((*PAIR, "model=dot,additive"), "model takes one value here, got 'dot,additive'"),
        ((*PAIR, "--output", "map.gif"), "map.gif must end with .html, .pdf, .png or .svg"),
        (["--from", "none.yaml"], "--from: none.yaml is not there"),
    ],
)
def test_wrong_requests(arguments, sentence):
    with pytest.raises(RequestError, match=sentence):
        requested(*arguments)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- 1\n", "holds lines of `name: value`"),
        ("keys: [\n", "not valid YAML at line 2"),
        ("keys: ones:2\nqueries: ones:2\nkyes: 3\n", "'kyes' has no effect.*Did you mean 'keys'"),
        ("keys: 1\nqueries: 1\nmodel: '${oc.env:HOME}'\n", "model takes one value here"),
        ("keys: 1\nqueries: 1\nmodel: {_target_: a, b: c}\n", "model takes one value here"),
    ],
)
def test_files_that_make_no_sense(tmp_path, text, sentence):
    (tmp_path / "case.yaml").write_text(text)
    with pytest.raises(RequestError, match=sentence):
        requested("--from", str(tmp_path / "case.yaml"))

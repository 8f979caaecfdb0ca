"""Tensors from kinds and shapes, numbers, and files that may be anything."""

import pickle

import numpy as np
import pytest
import torch
from numpy.lib import format as npy

from attnexp.cli.tensors import KINDS, MOST, Description, fitted
from attnexp.errors import RequestError


@pytest.fixture
def described(tmp_path):
    """The tensor of a description, with a generator of one seed."""

    def tensor(content, seed=0):
        return Description("--keys", content, tmp_path).tensor(torch.Generator().manual_seed(seed))

    return tensor


def test_kinds(described):
    assert described("arange:2x3").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert described("ones:4").tolist() == [1] * 4
    assert described("zeros:1x2x1").tolist() == [[[0], [0]]]
    assert described("eye:2").tolist() == [[1, 0], [0, 1]]
    assert described("eye:3x2x2").tolist() == [[[1, 0], [0, 1]]] * 3
    assert described("normal:5x4").equal(described("normal:5x4"))
    assert not described("normal:5x4").equal(described("normal:5x4", seed=1))
    uniform = described("uniform:1000")
    assert 0 <= uniform.min() < 0.1
    assert 0.9 < uniform.max() < 1


def test_numbers(described):
    assert described("1,-2.5,3").tolist() == [1, -2.5, 3]
    assert described("1,2;3,4").tolist() == [[1, 2], [3, 4]]
    assert described("1,2;").tolist() == [[1, 2]]
    assert described(7).tolist() == [7]
    assert described([[[1, 2]], [[3, 4]]]).shape == (2, 1, 2)


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i2", "?", "<u1", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_in_files(described, tmp_path, dtype, order):
    array = np.asarray(np.arange(6).reshape(2, 3) % 2, dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    assert described("a.npy").tolist() == [[0, 1, 0], [1, 0, 1]]


def test_rows_in_files(described, tmp_path):
    (tmp_path / "a.csv").write_text("\ufeff1, 2\r\n3,4e1\n\n")
    assert described("a.csv").tolist() == [[1, 2], [3, 40]]


def header(shape, dtype="<f8", version=(1, 0)):
    """The bytes of an .npy file that has nothing behind its header."""
    import io

    file = io.BytesIO()
    write = npy.write_array_header_1_0 if version == (1, 0) else npy.write_array_header_2_0
    write(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


class Loaded:
    """Says so where it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (header((10**9, 10**9)), "cut short"),
        (header((3,)), "cut short"),
        (header((-1, 4)), r"the shape \(-1, 4\)"),
        (header((2,), "|O") + pickle.dumps(Loaded()), "the type object"),
        (header((1,), "<c16") + bytes(16), "the type complex128"),
        (header((1,), version=(2, 0)), "cut short"),
        (header((0,)), "is empty: its shape is 0"),
        (header((), "<f8") + bytes(8), "has 0 axes"),
        (b"\x93NUMPY\x09\x00" + bytes(20), "version 9.0"),
        (pickle.dumps(Loaded()), "holds no rows of numbers"),
        (b"", "holds no rows of numbers"),
        (header((1,)) + np.array([np.nan]).tobytes(), "not finite"),
        (header((1,)) + np.array([1e300]).tobytes(), "not finite"),
    ],
)
def test_arrays_that_are_none(described, tmp_path, content, why):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(RequestError, match=rf"--keys: 'a.npy' .*{why}"):
        described("a.npy")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x,y\n1,2\n", "row 1 is 'x,y'"),
        ("1,2\n3\n", "row 2 has 1 numbers, the first has 2"),
        ("1,\n", "row 1 is '1,'"),
        ("", "is empty"),
        ("1,inf", "not finite"),
    ],
)
def test_rows_that_are_none(described, tmp_path, text, why):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RequestError, match=why):
        described("a.csv")


def test_files_that_cannot_be_read(described, tmp_path):
    with pytest.raises(RequestError, match=r"--keys: .*none\.npy is not there"):
        described("none.npy")
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe1")
    with pytest.raises(RequestError, match="is not UTF-8 text"):
        described("a.csv")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(RequestError, match="is not a file"):
        described("folder.npy")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("norml:2x3", "choose arange, eye, normal, ones, uniform or zeros. Did you mean 'normal'?"),
        ("ones:2x", "has no shape such as 2x10x4"),
        ("ones:2x0", "has no shape such as 2x10x4"),
        ("ones:1x1x1x1", "has 4 axes: expected one to three"),
        (f"ones:{MOST}x2", f"are {2 * MOST:,} numbers, and at most {MOST:,} are looked at"),
        ("ones:9999999999x9999999999", "at most"),
        ("eye:9999999", "at most"),
        ("ones:99999999999", "has no shape"),
        ("abc", "is no tensor: write KIND:SHAPE as in normal:2x1x20"),
        ("1,2;3", "is no tensor"),
        ("", "is no tensor"),
        ("nan", "not finite"),
        ([[1, 2], [3]], "must be lists of numbers, all of one length"),
        (["a"], "must be lists of numbers"),
        ([[[[1]]]], "has 4 axes"),
        ([[]], "is empty: its shape is 1 x 0"),
        (None, "'None' is no tensor"),
        ({"a": 1}, "is no tensor"),
    ],
)
def test_what_describes_no_tensor(described, content, why):
    with pytest.raises(RequestError) as error:
        described(content)
    assert why in str(error.value)
    assert str(error.value).startswith("--keys")
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("content", ["1.5,2", "ones:1x1x1"])
def test_lengths_are_whole_numbers(tmp_path, content):
    with pytest.raises(RequestError, match="must be whole numbers: 2,6 a sequence, 1,3;2,4"):
        Description("--valid-lens", content, tmp_path).whole(torch.Generator())


def test_every_kind_has_the_shape_that_was_asked_for(described):
    for kind in KINDS:
        assert described(f"{kind}:2x3x3").shape == (2, 3, 3)


def shapes(**sizes):
    fitting = fitted({name: torch.zeros(size) for name, size in sizes.items()})
    return {name: tuple(tensor.shape) for name, tensor in fitting.items()}


def test_axes_that_are_left_out():
    assert shapes(queries=(4,), keys=(5,), values=(10,)) == {
        "queries": (1, 4, 1),
        "keys": (1, 5, 1),
        "values": (1, 5, 2),
    }
    assert shapes(scores=(3,), values=(3, 2)) == {"scores": (1, 1, 3), "values": (1, 3, 2)}
    assert shapes(scores=(2, 3), valid_lens=(4,))["scores"] == (4, 2, 3)
    assert shapes(queries=(2, 1, 3), keys=(5, 3), valid_lens=(1,)) == {
        "queries": (2, 1, 3),
        "keys": (2, 5, 3),
        "valid_lens": (2,),
    }


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        (
            {"queries": (2, 1, 3), "keys": (3, 5, 3)},
            "queries have 2 sequences, others 3: queries 2 x 1 x 3, keys 3 x 5 x 3",
        ),
        (
            {"queries": (1, 3), "keys": (5, 3), "values": (4, 2)},
            "there are 5 keys and not as many values: queries 1 x 3, keys 5 x 3, values 4 x 2",
        ),
        ({"scores": (1, 5), "values": (7,)}, "not as many values: scores 1 x 5, values 7"),
        (
            {"scores": (2, 4, 5), "valid_lens": (2, 3)},
            "there are 4 queries in a sequence, not 3: scores 2 x 4 x 5, valid_lens 2 x 3",
        ),
        ({"queries": (2**11, 1), "keys": (2**11, 1)}, "scores: 1 x 2048 x 2048 are 4,194,304"),
        ({"scores": (2**12, 1), "values": (1, 2**12)}, "contexts: 1 x 4096 x 4096"),
        ({"keys": (1, 2**12), "queries": (1, 1), "valid_lens": (2**12,)}, "keys: 4096 x 1 x 4096"),
    ],
)
def test_shapes_that_do_not_fit(sizes, why):
    with pytest.raises(RequestError) as error:
        shapes(**sizes)
    assert why in str(error.value)

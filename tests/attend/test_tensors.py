"""Tensors from kinds and shapes, numbers, and files that may hold anything."""

import io
import pickle

import numpy as np
import pytest
import torch
from numpy.lib import format as npy

from attnexp.attend.tensors import KINDS, Description, fitted
from attnexp.core.errors import RequestError


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
    for kind in KINDS:
        assert described(f"{kind}:2x3x3").shape == (2, 3, 3)


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
    found = described("a.npy")
    assert found.tolist() == [[0, 1, 0], [1, 0, 1]]
    assert found.dtype == torch.float32


def test_rows_in_files(described, tmp_path):
    (tmp_path / "a.csv").write_text("\ufeff1, 2\r\n3,4e1\n\n")
    assert described("a.csv").tolist() == [[1, 2], [3, 40]]


def header(shape, dtype="<f8"):
    """The bytes of an .npy file that has nothing behind its header."""
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


class Loaded:
    """Fails the test where it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.npy", header((10**9, 10**9)), "greater than file size"),
        ("a.npy", header((-1, 4)), "is not a tensor"),
        ("a.npy", header((2,), "|O") + pickle.dumps(Loaded()), "Python objects in dtype"),
        ("a.npy", header((1,), "<c16") + bytes(16), "the type complex128"),
        ("a.npy", header((), "<f8") + bytes(8), "has 0 axes"),
        ("a.npy", pickle.dumps(Loaded()), "the magic string is not correct"),
        ("a.npy", header((1,)) + np.array([1e300]).tobytes(), "not finite"),
        ("a.csv", b"x,y\n1,2\n", "could not convert string 'x'"),
        ("a.csv", b"1,2\n3\n", "from 2 to 1 at row 2"),
        ("a.csv", b"1,\n", "could not convert string ''"),
        ("a.csv", b"", "it is empty"),
        ("a.csv", b"1,inf", "not finite"),
        ("a.csv", b"\xff\xfe1", "a.csv is UTF-16: save the file as UTF-8"),
        ("none.npy", None, "cannot be read: No such file"),
    ],
)
def test_files_that_hold_no_tensor(described, tmp_path, name, content, why):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RequestError, match=f"--keys: .*{name}.*{why}"):
        described(name)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            "norml:2x3",
            "has an unknown kind. Did you mean 'normal' or 'uniform'? Choose arange, ",
        ),
        ("ones:2x", "must have a shape of positive integers"),
        ("ones:2x0", "must have a shape of positive integers"),
        ("ones:1x1x1x1", "has 4 axes: expected one to three"),
        ("ones:1048577", "are 1,048,577 numbers, expected at most 1,048,576"),
        ("ones:9000000x9000000", "are 81,000,000,000,000 numbers, expected at most 1,048,576"),
        ("abc", "write KIND:SHAPE as in normal:2x1x20"),
        ("1,2;3", "is not a tensor"),
        ("", "is not a tensor (it is empty)"),
        ("nan", "not finite"),
        ([[1, 2], [3]], "is not a tensor"),
        ([[[[1]]]], "has 4 axes"),
        ([[]], "is empty: its shape is 1 x 0"),
        (None, "'None' is not a tensor"),
        ({"a": 1}, "is not a tensor"),
    ],
)
def test_descriptions_of_no_tensor(described, content, why):
    with pytest.raises(RequestError) as error:
        described(content)
    assert why in str(error.value)
    assert str(error.value).startswith("--keys")
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("content", ["1.5,2", "ones:1x1x1"])
def test_lengths_are_whole_numbers(tmp_path, content):
    with pytest.raises(RequestError, match="must be whole numbers: 2,6 per sequence, 1,3;2,4"):
        Description("--valid-lens", content, tmp_path).lengths(torch.Generator())


def shapes(**sizes):
    fitting = fitted({name: torch.zeros(size) for name, size in sizes.items()})
    return {name: tuple(tensor.shape) for name, tensor in fitting.items()}


def test_axes_that_are_left_out():
    assert shapes(queries=(4,), keys=(5,), values=(5,)) == {
        "queries": (1, 4, 1),
        "keys": (1, 5, 1),
        "values": (1, 5, 1),
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
        ({"scores": (2, 3), "mask": (2,)}, "a row of 3 keys for each of 2 queries: scores 2 x 3"),
        ({"queries": (2, 1), "keys": (3, 1), "mask": (1, 3, 2)}, "a row of 3 keys for each of 2"),
        ({"queries": (2**11, 1), "keys": (2**11, 1)}, "scores: 1 x 2048 x 2048 are 4,194,304"),
        ({"scores": (2**12, 1), "values": (1, 2**12)}, "contexts: 1 x 4096 x 4096"),
        ({"keys": (1, 2**12), "queries": (1, 1), "valid_lens": (2**12,)}, "keys: 4096 x 1 x 4096"),
    ],
)
def test_shapes_that_do_not_fit(sizes, why):
    with pytest.raises(RequestError) as error:
        shapes(**sizes)
    assert why in str(error.value)

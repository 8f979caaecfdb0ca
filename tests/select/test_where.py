"""The little language of --where."""

import pytest

from attnexp.core.errors import RequestError
from attnexp.select.where import DEEPEST, matching


@pytest.fixture
def runs(frame):
    """Five runs that differ in model, data, heads and metric."""
    return frame(
        *(
            (
                {"arch.heads": heads, "seed": seed, "model": {"flag": flag}},
                {"choices": {"model": model, "data": data}, "metrics": {"test_mse": mse}},
            )
            for model, data, heads, seed, flag, mse in (
                ("dot", "reverse", 1, 0, True, 0.5),
                ("additive", "reverse", 2, 1, False, 0.25),
                ("cosine", "sine", 4, 2, None, None),
                ("dot", "sine", 8, 3, True, 1e-3),
                ("two words", "2", 16, 4, False, 3.0),
            )
        )
    )


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("model=dot", [0, 3]),
        ("model == dot", [0, 3]),
        ("model != dot", [1, 2, 4]),
        ("data=reverse and model in [additive, dot]", [0, 1]),
        ("data=reverse or model=cosine", [0, 1, 2]),
        ("model=dot and data=sine or seed=4", [3, 4]),
        ("model=dot and (data=sine or seed=0)", [0, 3]),
        ("not model=dot", [1, 2, 4]),
        ("not not model=dot", [0, 3]),
        ("model not in [dot, cosine]", [1, 4]),
        ("NOT model=dot AND seed<3", [1, 2]),
        ("arch.heads>=4", [2, 3, 4]),
        ("heads<2", [0]),
        ("heads in [1,8]", [0, 3]),
        ("test_mse<1e-2", [3]),
        ("test_mse>0.25", [0, 4]),
        ("test_mse=null", [2]),
        ("test_mse!=null", [0, 1, 3, 4]),
        ("model.flag=true", [0, 3]),
        ("flag=false", [1, 4]),
        ("flag=null", [2]),
        ("flag=1", []),
        ('model="two words"', [4]),
        ("model='two words'", [4]),
        ("data=2", [4]),
        ("data='2'", [4]),
        ("heads=2.0", [1]),
        ("status=finished", [0, 1, 2, 3, 4]),
        ("started>='2026-01-01'", [0, 1, 2, 3, 4]),
        ("started<'2026-01-01'", []),
        ("model<b", [1]),
    ],
)
def test_runs_that_fit(runs, test: str, expected: list[int]):
    fits = matching(runs, test)
    assert [i for i, fit in enumerate(fits) if fit] == expected


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("modle=dot", "There is no column 'modle'. Did you mean 'model'"),
        ("", 'expected a setting or a number at the end of ""'),
        ("model", "expected =, !=, <, <=, >, >= or 'in' after 'model' at the end of"),
        ("model=", 'expected a value at the end of "model="'),
        ("model=dot seed=1", "expected 'and', 'or' or the end, not \"seed=1\""),
        ("model in dot", "expected '[' after 'in', not \"dot\""),
        ("model in [dot", "expected ',' or ']' at the end"),
        ("model in []", 'expected a value, not "]"'),
        ("model=dot,cosine", "for several values, write model in [dot, cosine]"),
        ("seed=1 or model!=dot,'a b'", 'for several values, write model not in [dot, "a b"]'),
        ("model=dot,", 'expected a value at the end of "model=dot,"'),
        ("model not dot", "expected 'in', not \"dot\""),
        ("(model=dot", "expected ')' at the end"),
        ("model=dot)", "expected 'and', 'or' or the end, not \")\""),
        ("model='dot", '"\'dot" is not understood'),
        ("=dot", 'expected a setting or a number, not "=dot"'),
        ("seed<true", "<, <=, > and >= compare numbers, or text"),
        ("(" * 1000 + "model=dot" + ")" * 1000, f"more than {DEEPEST} brackets or 'not'"),
        ("not " * 1000 + "model=dot", f"more than {DEEPEST} brackets or 'not'"),
        ("__import__('os').system('true')", "There is no column '__import__'"),
    ],
)
def test_what_is_wrong_is_said(runs, test: str, text: str):
    with pytest.raises(RequestError) as error:
        matching(runs, test)
    assert text in str(error.value)

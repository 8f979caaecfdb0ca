import torch

from attnexp.masks import LeaveOneOut, hide, over_heads, select_queries


def test_leave_one_out_hides_the_own_key():
    mask = LeaveOneOut(torch.tensor([2, 0]), keys=3)
    expected = torch.tensor([[True, True, False], [False, True, True]])
    assert mask.matrix().equal(expected)
    scores = torch.zeros(4, 2, 3)
    assert (mask.hide(scores) == 0).equal(expected.expand(4, -1, -1))
    assert (scores == 0).all()


def test_some_queries_of_a_mask():
    structured = LeaveOneOut(torch.arange(5), keys=5)
    matrix = structured.matrix()[None]
    for index in (slice(1, 3), torch.tensor([4, 0])):
        expected = matrix[:, index]
        assert select_queries(matrix, index).equal(expected)
        assert select_queries(structured, index).matrix().equal(expected[0])
    shared = matrix[:, :1]
    assert select_queries(shared, slice(3, 4)) is shared
    assert select_queries(None, slice(3, 4)) is None


def test_hiding_is_a_score_of_minus_infinity():
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = torch.tensor([[-torch.inf, 2.0], [3.0, -torch.inf]])
    structured = LeaveOneOut(torch.arange(2), keys=2)
    assert hide(scores, structured).equal(expected)
    assert hide(scores, structured.matrix()).equal(expected)
    assert hide(scores, None) is scores


def test_a_structured_mask_is_the_same_for_all_heads():
    structured = LeaveOneOut(torch.arange(2), keys=2)
    assert over_heads(structured) is structured
    assert over_heads(structured.matrix()[None]).shape == (1, 1, 2, 2)
    assert over_heads(None) is None

import torch

from attnexp.scores.bilinear import Bilinear


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors(query_dim=2, key_dim=7)
    score = Bilinear(2, 7).double()
    matrix = score.W.weight.detach()

    def one(query, key):
        return sum(
            query[row] * matrix[row, column] * key[column]
            for row in range(2)
            for column in range(7)
        )

    torch.testing.assert_close(score(queries, keys), pairwise(one, queries, keys))


def test_the_identity_matrix_gives_the_dot_product(vectors):
    queries, keys = vectors()
    score = Bilinear(7, 7).double()
    with torch.no_grad():
        score.W.weight.copy_(torch.eye(7))
    torch.testing.assert_close(score(queries, keys), queries @ keys.mT)

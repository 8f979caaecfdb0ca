"""The book's Module, DataModule and Trainer, against loops of PyTorch's."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnexp import d2l


class Line(d2l.Module):
    """A linear model, as the book's chapters write theirs."""

    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Linear(2, 1, bias=False)

    def loss(self, y_hat, y):
        return F.mse_loss(y_hat, y)


class Numbers(d2l.DataModule):
    def __init__(self, batch_size=4):
        super().__init__()
        self.save_hyperparameters()
        self.X = torch.randn(12, 2, generator=torch.Generator().manual_seed(0))
        self.y = self.X @ torch.tensor([[2.0], [-3.0]])

    def get_dataloader(self, train):
        rows = slice(0, 8) if train else slice(8, None)
        return self.get_tensorloader((self.X, self.y), train, rows)


@pytest.mark.parametrize("clip", [0, 0.5])
def test_training_is_the_loop_of_pytorch(clip):
    model, data = Line(lr=0.1), Numbers(batch_size=8)
    weight = model.net.weight.detach().clone().requires_grad_()
    trainer = d2l.Trainer(max_epochs=3, gradient_clip_val=clip)
    trainer.fit(model, data)
    for _ in range(3):
        loss = ((data.X[:8] @ weight.T - data.y[:8]) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, weight)
        norm = gradient.norm()
        step = gradient * clip / norm if clip and norm > clip else gradient
        weight = (weight - 0.1 * step).detach().requires_grad_()
    torch.testing.assert_close(model.net.weight, weight, atol=1e-5, rtol=1e-5)
    assert (trainer.epoch, trainer.train_batch_idx, trainer.val_batch_idx) == (2, 3, 3)
    assert not model.training


def test_the_board_has_the_means_of_points():
    model = Line(lr=0.01)
    d2l.Trainer(max_epochs=2).fit(model, Numbers(batch_size=2))
    assert model.board.xlabel == "epoch"
    assert [point.x for point in model.board.data["train_loss"]] == [1 / 8, 5 / 8, 9 / 8, 13 / 8]
    assert [point.x for point in model.board.data["val_loss"]] == [1, 2]
    board = d2l.ProgressBoard()
    for x in range(5):
        board.draw(x, 10 * x, "a", every_n=2)
    assert board.data == {"a": [(0.5, 5), (2.5, 25)]}


def test_a_notebook_shows_the_curves_as_they_grow(monkeypatch):
    d2l.plt.switch_backend("Agg")
    shown: list[list[str]] = []
    display = SimpleNamespace(
        display=lambda figure: shown.append([line.get_label() for line in figure.axes[0].lines]),
        clear_output=lambda wait: None,
    )
    monkeypatch.setattr("attnexp.d2l.training.notebook_display", lambda: display)
    board = d2l.ProgressBoard(xlim=[0, 2])
    board.draw(0, 1, "train_loss")
    board.draw(1, 2, "val_loss")
    d2l.ProgressBoard(display=False).draw(0, 1, "a")
    assert shown == [["train_loss"], ["train_loss", "val_loss"]]
    assert board.fig.axes[0].get_xlim() == (0, 2)
    d2l.plt.close("all")


def test_arguments_are_kept():
    class Settings(d2l.HyperParameters):
        def __init__(self, a, b, c=3):
            _hidden = a
            self.save_hyperparameters(ignore=["b"])

    settings = Settings(1, 2)
    assert settings.hparams == {"a": 1, "c": 3}
    assert settings.a + settings.c == 4  # type: ignore[attr-defined]
    assert not hasattr(settings, "b")


def test_arguments_are_those_of_a_method():
    sentence = "^save_hyperparameters must be called in a method of the object, got a call outside$"
    with pytest.raises(ValueError, match=sentence):
        d2l.HyperParameters().save_hyperparameters()


def test_a_classifier_has_loss_and_accuracy():
    model = d2l.Classifier()
    Y_hat = torch.tensor([[[2.0, 0.0], [0.0, 2.0]]], requires_grad=True)
    Y = torch.tensor([[0, 0]])
    assert model.accuracy(Y_hat, Y).item() == 0.5
    assert model.accuracy(Y_hat, Y, averaged=False).tolist() == [1, 0]
    wrong = torch.log1p(torch.tensor(2.0).exp())
    torch.testing.assert_close(
        model.loss(Y_hat, Y, averaged=False), torch.stack([wrong - 2, wrong])
    )
    torch.testing.assert_close(model.loss(Y_hat, Y), wrong - 1)


def test_a_network_is_initialised_after_a_call():
    model = d2l.Module()
    model.net = nn.Sequential(nn.LazyLinear(2))
    seen: list[nn.Module] = []
    model.apply_init([torch.ones(1, 3)], seen.append)
    assert model.net[0].weight.shape == (2, 3)
    assert seen == [model.net[0], model.net]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_training_on_a_gpu():
    model = Line(lr=0.1)
    d2l.Trainer(max_epochs=1, num_gpus=1).fit(model, Numbers())
    assert model.net.weight.is_cuda

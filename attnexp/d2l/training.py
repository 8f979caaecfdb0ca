"""Models, data and their training as in Dive into Deep Learning: Module, DataModule, Trainer."""

import inspect
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from attnexp.d2l.devices import gpu
from attnexp.d2l.figures import notebook_display, use_svg_display


class HyperParameters:
    """A class whose objects keep the arguments of a method as attributes."""

    hparams: dict[str, Any]

    def save_hyperparameters(self, ignore: Iterable[str] = ()) -> None:
        """Make attributes of the caller's local variables, and keep them in `hparams`.

        Without `self`, the names in `ignore` and those that begin with an underscore. Raises
        ValueError if no method of the object called.
        """
        frame = inspect.currentframe()
        assert frame is not None
        caller = frame.f_back
        while caller is not None and caller.f_locals.get("self") is not self:
            caller = caller.f_back  # a decorator of this method has a frame of its own
        if caller is None:
            raise ValueError(
                "save_hyperparameters must be called in a method of the object, got a call outside"
            )
        left_out = {"self", *ignore}
        self.hparams = {
            name: value
            for name, value in caller.f_locals.items()
            if name not in left_out and not name.startswith("_")
        }
        for name, value in self.hparams.items():
            setattr(self, name, value)


class CurvePoint(NamedTuple):
    """A point of a curve."""

    x: float
    y: float


class ProgressBoard(HyperParameters):
    """Curves that grow while a notebook trains. `data` has the points of each, by its label.

    Outside of a notebook, and with `display` False, the points are kept and nothing is drawn.
    """

    def __init__(
        self,
        xlabel: str | None = None,
        ylabel: str | None = None,
        xlim: Sequence[float] | None = None,
        ylim: Sequence[float] | None = None,
        xscale: str = "linear",
        yscale: str = "linear",
        ls: Sequence[str] = ("-", "--", "-.", ":"),
        colors: Sequence[str] = ("C0", "C1", "C2", "C3"),
        fig: Any = None,
        axes: Any = None,
        figsize: tuple[float, float] = (3.5, 2.5),
        display: bool = True,
    ) -> None:
        self.xlabel, self.xlim, self.xscale = xlabel, xlim, xscale
        self.ylabel, self.ylim, self.yscale = ylabel, ylim, yscale
        self.ls, self.colors = ls, colors
        self.fig, self.axes, self.figsize, self.display = fig, axes, figsize, display
        self.raw_points: dict[str, list[CurvePoint]] = {}
        self.data: dict[str, list[CurvePoint]] = {}

    def draw(self, x: float, y: Any, label: str, every_n: int = 1) -> None:
        """Add a point to a curve: the mean of `every_n` points, once there are that many."""
        points = self.raw_points.setdefault(label, [])
        line = self.data.setdefault(label, [])
        points.append(CurvePoint(float(x), float(y)))
        if len(points) < every_n:
            return
        xs, ys = zip(*points, strict=True)
        line.append(CurvePoint(sum(xs) / len(xs), sum(ys) / len(ys)))
        points.clear()
        display = notebook_display()
        if self.display and display:
            self._redraw()
            display.display(self.fig)
            display.clear_output(wait=True)

    def _redraw(self) -> None:
        from matplotlib import pyplot as plt

        use_svg_display()
        if self.fig is None:
            self.fig = plt.figure(figsize=self.figsize)
        axes = self.axes or self.fig.gca()
        axes.cla()
        for (label, line), style, color in zip(
            self.data.items(), self.ls, self.colors, strict=False
        ):
            axes.plot(*zip(*line, strict=True), linestyle=style, color=color, label=label)
        axes.set(xlabel=self.xlabel or "x", ylabel=self.ylabel)
        axes.set(xscale=self.xscale, yscale=self.yscale)
        axes.set(xlim=self.xlim, ylim=self.ylim)
        axes.legend()


class Module(nn.Module, HyperParameters):
    """A model that knows its loss and its optimizer, which a `Trainer` trains.

    A subclass has `loss`, and `forward` or a network `net`. The default optimizer is SGD with the
    learning rate `lr`. `board` has the curves.
    """

    trainer: "Trainer"
    lr: float
    net: Any

    def __init__(self, plot_train_per_epoch: int = 2, plot_valid_per_epoch: int = 1) -> None:
        super().__init__()
        self.plot_train_per_epoch = plot_train_per_epoch
        self.plot_valid_per_epoch = plot_valid_per_epoch
        self.board = ProgressBoard()

    def loss(self, y_hat: Any, y: Any) -> Any:
        """Return the loss of outputs. A subclass has it."""
        raise NotImplementedError

    def forward(self, X: Any) -> Any:
        """Return the outputs of `net`."""
        return self.net(X)

    def plot(self, key: str, value: Tensor, train: bool) -> None:
        """Add a point to the curve of a measure, in training or in validation."""
        self.board.xlabel = "epoch"
        trainer = self.trainer
        if train:
            x = trainer.train_batch_idx / trainer.num_train_batches
            every_n = trainer.num_train_batches / self.plot_train_per_epoch
        else:
            x = trainer.epoch + 1
            every_n = trainer.num_val_batches / self.plot_valid_per_epoch
        label = f"{'train' if train else 'val'}_{key}"
        self.board.draw(x, value.detach().cpu(), label, every_n=int(every_n))

    def training_step(self, batch: Sequence[Tensor]) -> Tensor:
        """Return the loss of a batch, whose last tensor has the targets."""
        loss: Tensor = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch: Sequence[Tensor]) -> None:
        """Plot the loss of a batch."""
        self.plot("loss", self.loss(self(*batch[:-1]), batch[-1]), train=False)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer of all parameters."""
        return torch.optim.SGD(self.parameters(), lr=self.lr)

    def apply_init(self, inputs: Sequence[Any], init: Any = None) -> None:
        """Find the sizes of lazy layers by a call, then apply `init` to each part of `net`."""
        self.forward(*inputs)
        if init is not None:
            self.net.apply(init)


class Classifier(Module):
    """A model whose outputs are scores of classes, with the cross-entropy as its loss."""

    def validation_step(self, batch: Sequence[Tensor]) -> None:
        """Plot the loss and the accuracy of a batch."""
        outputs = self(*batch[:-1])
        self.plot("loss", self.loss(outputs, batch[-1]), train=False)
        self.plot("acc", self.accuracy(outputs, batch[-1]), train=False)

    def accuracy(self, Y_hat: Tensor, Y: Tensor, averaged: bool = True) -> Tensor:
        """Return the share of targets with the highest score, or a 0 or 1 for each target."""
        right = (Y_hat.flatten(0, -2).argmax(dim=1) == Y.flatten()).float()
        return right.mean() if averaged else right

    def loss(self, Y_hat: Tensor, Y: Tensor, averaged: bool = True) -> Tensor:
        """Return the mean cross-entropy, or that of each target. Padding counts as a target."""
        reduction = "mean" if averaged else "none"
        return F.cross_entropy(Y_hat.flatten(0, -2), Y.flatten(), reduction=reduction)


class DataModule(HyperParameters):
    """Data for a `Trainer`. A subclass has `get_dataloader` and `batch_size`."""

    batch_size: int

    def __init__(self, root: str = "../data", num_workers: int = 4) -> None:
        self.root = root
        self.num_workers = num_workers

    def get_dataloader(self, train: bool) -> Any:
        """Return the batches of training or of validation. A subclass has it."""
        raise NotImplementedError

    def train_dataloader(self) -> Any:
        """Return the batches of training."""
        return self.get_dataloader(train=True)

    def val_dataloader(self) -> Any:
        """Return the batches of validation."""
        return self.get_dataloader(train=False)

    def get_tensorloader(
        self, tensors: Sequence[Tensor], train: bool, indices: Any = slice(0, None)
    ) -> DataLoader[tuple[Tensor, ...]]:
        """Return batches of these rows of tensors, shuffled in training."""
        chosen = TensorDataset(*(tensor[indices] for tensor in tensors))
        return DataLoader(chosen, self.batch_size, shuffle=train)


class Trainer(HyperParameters):
    """The book's loop: `max_epochs` epochs, each with a pass over the validation data.

    It trains on the first GPU if `num_gpus` is above 0 and there is one. Gradients whose norm is
    above `gradient_clip_val` are scaled to it; 0 leaves them as they are. `attnexp` trains with
    seeds, validation, early stopping and records; this loop has none of them.
    """

    def __init__(self, max_epochs: int, num_gpus: int = 0, gradient_clip_val: float = 0) -> None:
        self.max_epochs = max_epochs
        self.gradient_clip_val = gradient_clip_val
        self.gpus = [gpu(i) for i in range(min(num_gpus, torch.cuda.device_count()))]

    def fit(self, model: Any, data: DataModule) -> None:
        """Train a model on data. It is left in evaluation mode if there are validation data."""
        self.prepare_data(data)
        self.prepare_model(model)
        self.optim = model.configure_optimizers()
        self.train_batch_idx = self.val_batch_idx = 0
        for epoch in range(self.max_epochs):
            self.epoch = epoch
            self.fit_epoch()

    def prepare_data(self, data: DataModule) -> None:
        """Take the batches of the data."""
        self.train_dataloader = data.train_dataloader()
        self.val_dataloader = data.val_dataloader()
        self.num_train_batches = len(self.train_dataloader)
        self.num_val_batches = 0 if self.val_dataloader is None else len(self.val_dataloader)

    def prepare_model(self, model: Any) -> None:
        """Put the model on its device, and tell it its trainer."""
        model.trainer = self
        model.board.xlim = [0, self.max_epochs]
        self.model = model.to(self.gpus[0]) if self.gpus else model

    def prepare_batch(self, batch: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return a batch on the model's device."""
        return [each.to(self.gpus[0]) for each in batch] if self.gpus else batch

    def fit_epoch(self) -> None:
        """Train for one epoch, then validate."""
        self.model.train()
        for batch in self.train_dataloader:
            loss = self.model.training_step(self.prepare_batch(batch))
            self.optim.zero_grad()
            loss.backward()
            if self.gradient_clip_val > 0:
                self.clip_gradients(self.gradient_clip_val, self.model)
            self.optim.step()
            self.train_batch_idx += 1
        if self.val_dataloader is None:
            return
        self.model.eval()
        for batch in self.val_dataloader:
            with torch.no_grad():
                self.model.validation_step(self.prepare_batch(batch))
            self.val_batch_idx += 1

    def clip_gradients(self, grad_clip_val: float, model: nn.Module) -> None:
        """Scale all gradients of a model together so that their norm is at most this."""
        nn.utils.clip_grad_norm_(model.parameters(), grad_clip_val)

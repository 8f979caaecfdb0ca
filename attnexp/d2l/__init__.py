"""The names of Dive into Deep Learning for its chapters on attention, over attnexp's parts.

Signatures, parameters by name, outputs and `attention_weights` are those of the package d2l 1.0.3,
to rounding. Of d2l 0.17, the code of the Chinese edition, are `NWKernelRegression`, `Animator`,
`sequence_mask`, `load_data_nmt`, `train_seq2seq` and `predict_seq2seq`, and layers also take the
sizes of their inputs. `attnexp docs coming_from` lists all that differs.

`plt` is matplotlib.pyplot, and the book's names for functions of tensors, such as `concat`, are
PyTorch's. For names of other chapters, `INSTEAD` has a substitute of attnexp's or PyTorch's.
"""

from typing import Any

from attnexp.core.errors import nearest_text
from attnexp.d2l.devices import cpu, gpu, num_gpus, try_all_gpus, try_gpu
from attnexp.d2l.figures import (
    Animator,
    plot,
    set_axes,
    set_figsize,
    show_heatmaps,
    use_svg_display,
)
from attnexp.d2l.functions import ALIASES, add_to_class, check_len, check_shape, sequence_mask
from attnexp.d2l.layers import (
    AdditiveAttention,
    AddNorm,
    DotProductAttention,
    MultiHeadAttention,
    NWKernelRegression,
    PositionalEncoding,
    PositionWiseFFN,
    TransformerEncoder,
    TransformerEncoderBlock,
)
from attnexp.d2l.seq2seq import (
    GRU,
    AttentionDecoder,
    Decoder,
    Encoder,
    EncoderDecoder,
    Seq2Seq,
    Seq2SeqEncoder,
    init_seq2seq,
    predict_seq2seq,
    train_seq2seq,
)
from attnexp.d2l.training import (
    Classifier,
    DataModule,
    HyperParameters,
    Module,
    ProgressBoard,
    Trainer,
)
from attnexp.d2l.translation import MTFraEng, Vocab, bleu, load_data_nmt
from attnexp.normalizers.softmax import masked_softmax

__all__ = [
    "GRU",
    "AddNorm",
    "AdditiveAttention",
    "Animator",
    "AttentionDecoder",
    "Classifier",
    "DataModule",
    "Decoder",
    "DotProductAttention",
    "Encoder",
    "EncoderDecoder",
    "HyperParameters",
    "MTFraEng",
    "Module",
    "MultiHeadAttention",
    "NWKernelRegression",
    "PositionWiseFFN",
    "PositionalEncoding",
    "ProgressBoard",
    "Seq2Seq",
    "Seq2SeqEncoder",
    "Trainer",
    "TransformerEncoder",
    "TransformerEncoderBlock",
    "Vocab",
    "add_to_class",
    "bleu",
    "check_len",
    "check_shape",
    "cpu",
    "gpu",
    "init_seq2seq",
    "load_data_nmt",
    "masked_softmax",
    "num_gpus",
    "plot",
    "predict_seq2seq",
    "sequence_mask",
    "set_axes",
    "set_figsize",
    "show_heatmaps",
    "train_seq2seq",
    "try_all_gpus",
    "try_gpu",
    "use_svg_display",
]

INSTEAD = {
    "SyntheticRegressionData": "`attnexp data=sine_v1` has curves of numbers",
    "TimeMachine": "`attnexp data=text` has text, and MTFraEng is here",
    "read_data_nmt": "MTFraEng(batch_size) has sentence pairs, as `attnexp data=pairs` does",
    "download": "attnexp downloads nothing, and `attnexp data=pairs data.path=FILE` reads yours",
    "extract": "attnexp downloads nothing, and `attnexp data=pairs data.path=FILE` reads yours",
    **dict.fromkeys(
        ("preprocess_nmt", "tokenize_nmt", "truncate_pad", "build_array_nmt"),
        "MTFraEng(batch_size) reads, splits and pads sentence pairs, as `attnexp data=pairs` does",
    ),
    "transpose_qkv": "it is a method, MultiHeadAttention.transpose_qkv",
    "transpose_output": "it is a method, MultiHeadAttention.transpose_output",
    "EncoderBlock": "TransformerEncoderBlock is it since d2l 1.0",
    "DecoderBlock": "`attnexp data=pairs arch=transformer` has the decoder",
    "TransformerDecoderBlock": "`attnexp data=pairs arch=transformer` has the decoder",
    **dict.fromkeys(
        ("train_ch3", "train_epoch_ch3", "train_ch6", "train_ch8"),
        "Trainer(max_epochs).fit(model, data) trains",
    ),
    **dict.fromkeys(
        ("FashionMNIST", "load_data_fashion_mnist"),
        "torchvision.datasets.FashionMNIST has the images, and a DataModule of yours their batches",
    ),
    "load_data_time_machine": "`attnexp data=text` has text, and MTFraEng is here",
    "load_array": "torch.utils.data.DataLoader over a TensorDataset is it",
    "synthetic_data": "`attnexp data=sine_v1` has curves of numbers",
    "sgd": "torch.optim.SGD is it, as `attnexp optim=sgd`",
    "squared_loss": "torch.nn.MSELoss is it",
    "Seq2SeqDecoder": "`attnexp data=pairs model=average` decodes without attention",
    "Seq2SeqAttentionDecoder": "`attnexp data=pairs model=additive` has the decoder",
    "TransformerDecoder": "`attnexp data=pairs arch=transformer` has the decoder",
    "RNN": "torch.nn.RNN is it, and GRU is here",
    "SGD": "torch.optim.SGD is it, as `attnexp optim=sgd`",
    "MaskedSoftmaxCELoss": "torch.nn.CrossEntropyLoss(ignore_index=...) is it",
    "grad_clipping": "Trainer(gradient_clip_val=...) clips, as `train.clip_norm` of attnexp does",
    "Accumulator": "a list serves, and `attnexp show` has the numbers of a run",
    "Timer": "`attnexp show` has the time of a run",
    "show_images": "matplotlib.pyplot.imshow draws images, show_heatmaps is here",
    "show_list_len_pair_hist": "matplotlib.pyplot.hist draws it",
}
"""A substitute for each name of the book that is not here."""


def __getattr__(name: str) -> Any:
    if name == "plt":
        from matplotlib import pyplot

        return pyplot
    if name in ALIASES:
        return ALIASES[name]
    known = [*__all__, *ALIASES]
    instead = f": {INSTEAD[name]}" if name in INSTEAD else f".{nearest_text(name, known)}"
    raise AttributeError(f"attnexp.d2l has no {name}{instead.rstrip('.')}")


def __dir__() -> list[str]:
    return [*__all__, *ALIASES, "INSTEAD", "plt"]

"""Maps from scores to attention weights.

The classes are imported when they are first used: `attnexp.normalizers.Sparsemax`.
"""

from typing import TYPE_CHECKING

from attnexp.lazy import lazy
from attnexp.normalizers.base import Normalizer as Normalizer

if TYPE_CHECKING:
    from attnexp.normalizers.entmax15 import Entmax15 as Entmax15
    from attnexp.normalizers.log_length import LogLength as LogLength
    from attnexp.normalizers.relu import Relu as Relu
    from attnexp.normalizers.sigmoid import Sigmoid as Sigmoid
    from attnexp.normalizers.sink import Sink as Sink
    from attnexp.normalizers.softmax import Softmax as Softmax
    from attnexp.normalizers.softmax_one import SoftmaxOne as SoftmaxOne
    from attnexp.normalizers.sparsemax import Sparsemax as Sparsemax
    from attnexp.normalizers.topk import TopK as TopK
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "Entmax15": "attnexp.normalizers.entmax15:Entmax15",
            "LogLength": "attnexp.normalizers.log_length:LogLength",
            "Relu": "attnexp.normalizers.relu:Relu",
            "Sigmoid": "attnexp.normalizers.sigmoid:Sigmoid",
            "Sink": "attnexp.normalizers.sink:Sink",
            "Softmax": "attnexp.normalizers.softmax:Softmax",
            "SoftmaxOne": "attnexp.normalizers.softmax_one:SoftmaxOne",
            "Sparsemax": "attnexp.normalizers.sparsemax:Sparsemax",
            "TopK": "attnexp.normalizers.topk:TopK",
        },
    )

"""What a run sets up on the processor."""

import torch

from attnexp.training.device import prepare_processor


def test_the_processor_is_prepared():
    threads = torch.get_num_threads()
    prepare_processor(1)
    assert torch.get_num_threads() == 1
    assert torch.tensor(1e-40).mul(1.0) == 0
    torch.set_num_threads(threads)

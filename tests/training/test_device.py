"""What a run sets up on the processor."""

import os
import subprocess
import sys

import pytest
import torch

from attnexp.training.device import prepare_processor


def test_the_processor_is_prepared():
    threads = torch.get_num_threads()
    prepare_processor(1)
    assert torch.get_num_threads() == 1
    assert torch.tensor(1e-40).mul(1.0) == 0
    torch.set_num_threads(threads)


@pytest.mark.parametrize(("given", "found"), [(None, "AUTO"), ("COMPATIBLE", "COMPATIBLE")])
def test_products_of_mkl_depend_on_no_alignment_unless_the_user_says_how(given, found):
    environment = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    code = "import os, attnexp; print(os.environ['MKL_CBWR'])"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | ({"MKL_CBWR": given} if given else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == f"{found}\n"

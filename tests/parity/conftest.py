"""What several parity tests of the processor's kernels share."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """So many threads while the test runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)

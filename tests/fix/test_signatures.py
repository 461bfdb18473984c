"""Parameters by name, where forward or the wrapper around it hides them."""

import pytest

DECORATED = """import torch
from torch import nn


def cast(fn):
    def wrapper(*args, **kwargs):
        {before}return fn(*args, **kwargs)

    return wrapper


class Net(nn.Module):
    @cast
    def forward(self, x, scale=2.0):
        return x * scale
"""


def test_the_wrapper_gets_the_parameters_of_forward(suggested):
    (text,) = suggested(DECORATED.format(before="")).rewrites("signature.decorated")
    assert "def wrapper(self, x, scale=2.0):\n        return fn(self, x, scale)\n" in text


@pytest.mark.parametrize("before", ["args = args[:2]\n        ", "kwargs.pop('y')\n        "])
def test_a_wrapper_that_looks_into_them_is_left_alone(suggested, before):
    made = suggested(DECORATED.format(before=before))
    assert made.of("signature.decorated")
    assert made.rewrites("signature.decorated") == []

"""What is known of objects of library classes."""

from fxlint.predict.facts import Facts
from fxlint.predict.values import NONE, UNKNOWN, Tensor, Union


def test_an_attribute_that_an_unknown_argument_decides_is_first_what_the_default_makes_it():
    bias = Facts().attributes_of("torch.nn.Linear", {"bias": UNKNOWN})["bias"]
    assert isinstance(bias, Union)
    first, second = bias.options  # in this order in every process
    assert isinstance(first, Tensor)
    assert first.parameter
    assert second is NONE

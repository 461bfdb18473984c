"""Computing on constants: what the code under lint says must not make the linter compute for long, or make much."""

import operator

import pytest

from fxlint.predict.evaluate import MAX_SIZE, fold, text
from fxlint.predict.values import UNKNOWN, Const


@pytest.mark.parametrize(
    ("function", "operands"),
    [
        (pow, (3, 10**6)),
        (operator.pow, (3, 10**6)),
        (int.__lshift__, (1, 10**6)),
        (round, (10**300, -(10**5))),
        (str.format, ("{:100000}", 1)),
        (str.format, ("{:{}}", 1, "100000")),
        (str.format, ("{:{}}", 1, 1e5)),
        (str.__mod__, ("%100000d", 3)),
        (operator.mod, ("%100000d", 3)),
        (operator.mod, (b"%100000d", 3)),
        (format, (3, "100000d")),
        (str.ljust, ("a", 10**6)),
        (str.zfill, ("a", 10**6)),
        (str.expandtabs, ("\t", 10**6)),
        (bytes.center, (b"a", 10**6)),
        (int.to_bytes, (1, 10**6, "big")),
        (operator.mul, ("a", 10**6)),
        (str.replace, ("a" * 10_000, "a", "b" * 10_000)),
        (operator.add, ("a" * MAX_SIZE, "a")),
        (text, ("a" * MAX_SIZE, "a")),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_what_grows_with_a_number_is_not_computed(function, operands):
    assert fold(function, *map(Const, operands)) is UNKNOWN


@pytest.mark.parametrize(
    ("function", "operands", "result"),
    [
        (operator.add, (2**40, 1), 2**40 + 1),
        (operator.mul, (5000.5, 2), 10001.0),
        (operator.ge, (20_240_101, 20_230_101), True),
        (operator.contains, ("net21841", "21841"), True),
        (int, ("21841",), 21841),
        (text, ("net", 21841), "net21841"),
        (max, (5000, 6000), 6000),
        (pow, (2, 10), 1024),
        (str.format, ("{:03d}", 7), "007"),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_what_is_no_larger_than_what_it_is_made_from_is_computed(function, operands, result):
    assert fold(function, *map(Const, operands)).value == result

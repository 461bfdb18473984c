"""The heap: what counts as a write, so that calls after it do not see what calls before it saw."""

from fxlint.predict.heap import Heap
from fxlint.predict.values import NONE, Attributes, External, Instance, Traced, Union, Value

LAYER = Instance(External("torch.nn.Conv2d"))


def both_ways(heap: Heap, attributes: Attributes, one: Value, other: Value) -> None:
    """A condition whose outcomes leave ``one`` and ``other`` in ``attributes["down"]``."""
    changes = []
    for value in (one, other):
        mark = heap.mark()
        heap.put(attributes, "down", value)
        changes.append(heap.changes(mark))
        heap.rollback(mark)
    heap.merge(*changes, likely_first=True)


def test_what_a_condition_has_narrowed_is_not_written_to_once_both_outcomes_are_joined():
    heap, either = Heap(), Union([LAYER, NONE])
    attributes = Attributes([("down", either)])
    both_ways(heap, attributes, LAYER, NONE)
    assert attributes["down"] is either
    assert not heap.written


def test_one_of_several_that_has_become_the_likely_one_is_written():
    heap = Heap()
    attributes = Attributes([("down", Union([NONE, LAYER], likely=1))])
    both_ways(heap, attributes, LAYER, NONE)
    joined = attributes["down"]
    assert isinstance(joined, Union)
    assert joined.options[: joined.likely] == [LAYER]


def test_a_proxy_that_has_come_by_another_way_is_written():
    heap, later = Heap(), Traced(None)
    attributes = Attributes([("down", Union([Traced(None), NONE]))])
    both_ways(heap, attributes, later, NONE)
    joined = attributes["down"]
    assert isinstance(joined, Union)
    assert later in joined.options

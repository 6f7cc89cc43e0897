"""References of what was sent: the newest are kept, in little memory, and numbers never shift."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.fix.outbound_references import ADMINISTRATIVE, OutboundReference, OutboundReferences


def test_each_number_finds_what_it_carried() -> None:
    references = OutboundReferences(10)
    assert (references.oldest, references.last) == (1, 0)
    references.add(ADMINISTRATIVE, 0, 100)
    references.add(3, 41, 101)
    references.add(0, 2**62, 102)
    references.add(ADMINISTRATIVE, 0, 103)
    assert (references.oldest, references.last) == (1, 4)
    assert [references.at(number) for number in (1, 2, 3, 4)] == [
        None,
        OutboundReference(2, 3, 41, 101),
        OutboundReference(3, 0, 2**62, 102),
        None,
    ]
    assert [item.msg_seq_num for item in references.applications(1)] == [2, 3]
    assert [references.last_application(begin, end) for begin, end in ((1, 4), (1, 2), (1, 1), (4, 4))] == [3, 2, 0, 0]
    references.clear()
    assert (references.oldest, references.last) == (1, 0)
    references.add(1, 7, 200)
    assert references.at(1) == OutboundReference(1, 1, 7, 200)


@given(st.integers(1, 8), st.lists(st.booleans(), max_size=60))
def test_the_newest_are_kept_and_memory_is_bounded(kept: int, kinds: list[bool]) -> None:
    references = OutboundReferences(kept)
    for number, application in enumerate(kinds, 1):
        references.add(7 if application else ADMINISTRATIVE, number * 10, number)
        assert references.last == number
        assert references.oldest == max(1, number - kept + 1)
        assert len(references._streams) <= 2 * kept
    for number in range(references.oldest, references.last + 1):
        expected = OutboundReference(number, 7, number * 10, number) if kinds[number - 1] else None
        assert references.at(number) == expected
    applications = [n for n in range(references.oldest, references.last + 1) if kinds[n - 1]]
    assert [item.msg_seq_num for item in references.applications(1)] == applications
    assert references.last_application(references.oldest, references.last) == (applications[-1] if applications else 0)


def test_the_last_application_of_any_range_is_known_without_looking_at_the_range() -> None:
    references = OutboundReferences(100)
    applications = {3, 4, 9}
    for number in range(1, 13):
        references.add(7 if number in applications else ADMINISTRATIVE, number, number)
    for begin in range(1, 13):
        for end in range(begin, 13):
            expected = max((number for number in applications if begin <= number <= end), default=0)
            assert references.last_application(begin, end) == expected


@pytest.mark.parametrize("kept", [1, 3, 100])
def test_a_batch_is_remembered_as_its_messages_one_by_one_would_be(kept: int) -> None:
    one_by_one, batched = OutboundReferences(kept), OutboundReferences(kept)
    for round_, positions in enumerate(([4], [5, 6, 7, 9], [10, 11])):
        one_by_one.add(ADMINISTRATIVE, 0, round_)
        batched.add(ADMINISTRATIVE, 0, round_)
        for position in positions:
            one_by_one.add(round_, position, 100 + round_)
        batched.add_applications(round_, positions, 100 + round_)
    assert (batched.oldest, batched.last) == (one_by_one.oldest, one_by_one.last) == (max(1, 11 - kept), 10)
    assert list(batched.applications(1)) == list(one_by_one.applications(1))
    numbers = range(batched.oldest, 11)
    for end in numbers:
        assert batched.last_application(end, end) == one_by_one.last_application(end, end)

"""Blocks and runs as bytes."""

import struct
import zlib

import pytest

from exchange.records.positions import Count, Epoch, Nanoseconds, Position, StreamPosition
from exchange.streams.block import (
    HEADER_SIZE,
    DamagedBlockError,
    MalformedRunError,
    checked_header,
    make_run,
    narrow_block,
    parse_runs,
    place_run,
    seal_block,
    tail_of_run,
)

RUN_OF_THREE = make_run(7, StreamPosition(5), Nanoseconds(11), [b"one", b"", b"three"])


def block_of(*runs: bytes, count: int = 3) -> bytes:
    return seal_block(2, Epoch(4), Position(100), Nanoseconds(99), Count(count), 64, b"".join(runs))


def test_a_run_is_a_header_a_length_table_and_the_payloads() -> None:
    assert RUN_OF_THREE.data == (
        struct.pack("<IIQqII", 7, 0, 5, 11, 3, 20) + struct.pack("<III", 3, 0, 5) + b"onethree"
    )
    assert RUN_OF_THREE.payloads() == [b"one", b"", b"three"]
    assert RUN_OF_THREE.end == 8


def test_a_block_is_a_header_with_the_checksum_of_all_and_the_runs() -> None:
    placed = place_run(RUN_OF_THREE, 9, 2)
    block = block_of(placed.data)
    header = struct.pack("<4sBxHIQqIIQ", b"ORDB", 1, 2, 4, 100, 99, 3, len(placed.data), 64)
    assert block == header + struct.pack("<I", zlib.crc32(header + placed.data)) + placed.data
    assert list(parse_runs(block, HEADER_SIZE)) == [placed]
    assert placed.payloads() == RUN_OF_THREE.payloads()
    assert (placed.stream, placed.offset, placed.first) == (9, 2, 5)


@pytest.mark.parametrize("skip", [0, 1, 2])
def test_the_tail_of_a_run_is_the_run_of_its_last_records(skip: int) -> None:
    payloads = [b"one", b"", b"three"]
    tail = tail_of_run(RUN_OF_THREE, skip)
    assert tail.payloads() == payloads[skip:]
    assert tail.first == 5 + skip
    assert next(parse_runs(tail.data)) == tail


def test_one_flipped_bit_anywhere_damages_a_block() -> None:
    block = block_of(RUN_OF_THREE.data)
    assert checked_header(block).end == 103
    for place in range(len(block)):
        damaged = bytearray(block)
        damaged[place] ^= 1
        with pytest.raises(DamagedBlockError):
            checked_header(bytes(damaged))


def test_a_block_cut_off_anywhere_is_damaged() -> None:
    block = block_of(RUN_OF_THREE.data)
    for size in range(len(block)):
        with pytest.raises(DamagedBlockError):
            checked_header(block[:size])


@pytest.mark.parametrize(
    ("bytes_", "reason"),
    [
        (RUN_OF_THREE.data[:20], "a run header is cut off"),
        (RUN_OF_THREE.data[:-1], "a run of 3 records in 20 bytes does not fit"),
        (struct.pack("<IIQqII", 7, 0, 5, 11, 0, 0), "a run of 0 records in 0 bytes does not fit"),
        (struct.pack("<IIQqII", 7, 0, 5, 11, 9, 20) + bytes(20), "a run of 9 records in 20 bytes does not fit"),
        (
            struct.pack("<IIQqIII", 7, 0, 5, 11, 1, 6, 3) + b"ab",
            "the lengths of a run do not add up to its size",
        ),
    ],
)
def test_bytes_that_are_no_runs_are_told_so(bytes_: bytes, reason: str) -> None:
    with pytest.raises(MalformedRunError, match=reason):
        list(parse_runs(bytes_))


def test_a_narrowed_block_keeps_positions_and_drops_other_streams() -> None:
    first = place_run(make_run(0, StreamPosition(0), Nanoseconds(1), [b"a"]), 1, 0)
    second = place_run(make_run(0, StreamPosition(9), Nanoseconds(1), [b"b", b"c"]), 2, 1)
    block = block_of(first.data, second.data)
    narrowed = narrow_block(block, frozenset((2,)))
    assert narrowed is not None
    assert checked_header(narrowed).first == 100
    assert checked_header(narrowed).end == 103
    assert list(parse_runs(narrowed, HEADER_SIZE)) == [second]
    assert narrow_block(block, frozenset((3,))) is None

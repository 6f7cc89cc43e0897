"""The numbers of the design, each a type of its own so that mypy keeps them apart.

A position names one record and counts from 0. An end is a count: one more than the last position.
"""

from typing import NewType

Position = NewType("Position", int)
"""A record's place in its partition, from 0, dense, assigned once."""

StreamPosition = NewType("StreamPosition", int)
"""A record's place in its stream, from 0, dense."""

End = NewType("End", int)
"""One more than the last partition position: how many records a partition, or a level of it, holds."""

StreamEnd = NewType("StreamEnd", int)
"""One more than the last stream position."""

Count = NewType("Count", int)
"""How many records; never a place."""

Epoch = NewType("Epoch", int)
"""A stretch of a partition between two appenders; counts from 1, never used twice."""

Nanoseconds = NewType("Nanoseconds", int)
"""An instant: nanoseconds since 1970-01-01 UTC."""

Ticks = NewType("Ticks", int)
"""A price as a number of the instrument's ticks."""

Lots = NewType("Lots", int)
"""A quantity as a number of the instrument's lots."""

Notional = NewType("Notional", int)
"""A sum of price times quantity, in ticks times lots."""

MsgSeqNum = NewType("MsgSeqNum", int)
"""A FIX message number, from 1 (FIX 4.4 vol. 2, MsgSeqNum(34))."""

SessionEpoch = NewType("SessionEpoch", int)
"""Which numbering of a FIX session a MsgSeqNum belongs to; grows with each reset."""

"""The limits of streams: name, default, consequence (architecture, rule 15). Keys of `[limits]` in the config."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """All in bytes, counts or milliseconds as their names say; every consequence is logged with the peer's name."""

    frame_bytes: int = 16 * 1024 * 1024
    """Longest frame on an internal socket. A longer one: that peer is refused with a reason and disconnected."""
    record_bytes: int = 256 * 1024
    """Longest payload of one record. A longer one: the publish is refused and the peer disconnected."""
    block_bytes: int = 1024 * 1024
    """A block is closed when its runs reach this size, so one turn of the loop may write several."""
    streams_per_partition: int = 100_000
    """Names bound in one partition. Opening one more is refused."""
    unsettled_tail_bytes: int = 64 * 1024 * 1024
    """Appended but not yet synced, over all partitions. At the limit the sequencer stops reading from publishers."""
    segment_bytes: int = 64 * 1024 * 1024
    """A log segment is sealed when it reaches this size."""
    segment_blocks: int = 100_000
    """A log segment is sealed when it holds this many blocks, so that scanning one at start stays short."""
    recent_bytes: int = 8 * 1024 * 1024
    """Blocks of a partition kept in memory for readers near the edge; further back they are read from the log."""
    reader_buffer_bytes: int = 1024 * 1024
    """Bytes waiting in one reader's socket. At the limit nothing more is queued: it catches up from the log."""
    prompt_sync_bytes: int = 64 * 1024
    """Groups up to this size are synced on the sequencer's loop while the disk is quick, not on a thread. 1: none."""
    level_interval_ms: int = 20
    """Bare levels and settled ends are told at most this often; blocks that nobody waits for are synced no later."""
    log_free_bytes: int = 512 * 1024 * 1024
    """Free disk below which health turns degraded, before a full disk stops the appender."""

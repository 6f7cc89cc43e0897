"""The `clock` stream: tick k is stream position k and has the empty payload (architecture, time and reference data)."""

STREAM = "clock"
TICK_PAYLOAD = b""

"""FIX without I/O: bytes and the time in, events and bytes out."""

"""Free ports on loopback, found by binding them."""

import random
import socket

HOST = "127.0.0.1"
FIRST_BASE, LAST_BASE, STEP = 20_000, 32_000, 100


def is_free(port: int) -> bool:
    """Whether a listener could bind the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port_base(offsets: tuple[int, ...]) -> int:
    """A port base whose `offsets` are all free; OSError when there is none."""
    bases = list(range(FIRST_BASE, LAST_BASE, STEP))
    random.shuffle(bases)  # two venues that start at once rarely try the same ports
    for base in bases:
        if all(is_free(base + offset) for offset in offsets):
            return base
    raise OSError(f"no free ports between {FIRST_BASE} and {LAST_BASE}")

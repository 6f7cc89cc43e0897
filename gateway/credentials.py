"""Passwords of FIX sessions: argon2 hashes, checked in threads, a few at a time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from exchange.hosting.process_config import SessionEntry

_hasher = PasswordHasher()


class CredentialCheck:
    """At most `threads` checks run at once: each costs tens of milliseconds and of megabytes, by design of argon2.

    Who waits for a turn and is cancelled costs nothing more.
    """

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="credentials")
        self._turns = asyncio.Semaphore(threads)

    async def hold(self, entry: SessionEntry, username: bytes | None, password: bytes | None) -> bool:
        """Whether Username(553), absent or the SenderCompID, and Password(554) are the session's.

        What is wrong does not show in the time it takes: an absent password is checked like any other.
        """
        loop = asyncio.get_running_loop()
        async with self._turns:
            matches = await loop.run_in_executor(self._executor, _verify, entry.password_hash, password or b"")
        return matches and password is not None and (username is None or username == entry.comp_id.encode("latin-1"))

    def close(self) -> None:
        """Let the threads go."""
        self._executor.shutdown(wait=False)


def _verify(password_hash: str, password: bytes) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False

"""Passwords of FIX sessions: argon2 hashes, checked in threads, a few at a time."""

import asyncio
import hmac
import secrets
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from exchange.hosting.process_config import SessionEntry

_hasher = PasswordHasher()


class CredentialCheck:
    """At most `threads` checks run at once, and one for a session: each costs tens of milliseconds by design of argon2.

    So guesses at one session's password keep no other session waiting. The password that held last is remembered as a
    keyed digest, and holds at once: guesses at a session do not keep its own member out either.
    """

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="credentials")
        self._turns = asyncio.Semaphore(threads)
        self._of_session: dict[str, asyncio.Lock] = {}
        self._key = secrets.token_bytes(32)
        self._held: dict[str, bytes] = {}

    async def hold(self, entry: SessionEntry, username: bytes | None, password: bytes | None) -> bool:
        """Whether Username(553), absent or the SenderCompID, and Password(554) are the session's.

        What is wrong does not show in the time it takes: an absent password is checked like any other.
        """
        name = entry.comp_id
        digest = hmac.digest(self._key, entry.password_hash.encode() + b"\0" + (password or b""), "sha256")
        if not self._held_before(name, digest):
            async with self._of_session.setdefault(name, asyncio.Lock()):
                if not self._held_before(name, digest):
                    if not await self._check(entry, password or b""):
                        return False
                    self._held[name] = digest
        return password is not None and (username is None or username == name.encode("latin-1"))

    def _held_before(self, name: str, digest: bytes) -> bool:
        return hmac.compare_digest(self._held.get(name, b""), digest)

    async def _check(self, entry: SessionEntry, password: bytes) -> bool:
        async with self._turns:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, _verify, entry.password_hash, password)

    def close(self) -> None:
        """Let the threads go."""
        self._executor.shutdown(wait=False)


def _verify(password_hash: str, password: bytes) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False

"""Passwords of FIX sessions: argon2 hashes, checked in threads, a few at a time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_hasher = PasswordHasher()
_NOBODY = _hasher.hash("no session has this password")


class CredentialCheck:
    """At most `threads` checks run at once: each costs tens of milliseconds and of megabytes, by design of argon2."""

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="credentials")

    async def holds(self, password_hash: str, password: bytes | None) -> bool:
        """Whether the password belongs to the hash; as slow for an absent password as for a wrong one."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, _verify, password_hash, password)


def _verify(password_hash: str, password: bytes | None) -> bool:
    try:
        _hasher.verify(password_hash if password is not None else _NOBODY, password or b"")
    except (VerificationError, InvalidHashError):
        return False
    return password is not None

"""A FIX client of literal bytes on a real socket: it reads only when told to, and numbers as it is told."""

import asyncio
import contextlib
import re
import socket
import struct
import time

DEADLINE_S = 20
_FRAME = re.compile(rb"8=FIX\.4\.4\x019=(\d+)\x01(35=.*?\x01)10=(\d{3})\x01", re.DOTALL)
_VARYING = re.compile(r"\|(52|60|122)=\d{8}-\d\d:\d\d:\d\d\.\d{6}(?=\|)")
_NUMBER = re.compile(r"\|34=(\d+)\|")


def utc_now() -> str:
    """Now as a UTCTimestamp."""
    return time.strftime("%Y%m%d-%H:%M:%S", time.gmtime())


def framed(body: str) -> bytes:
    """A frame around a body that starts at 35=, with `|` for SOH."""
    data = body.replace("|", "\x01").encode()
    data = b"8=FIX.4.4\x019=%d\x01%b" % (len(data), data)
    return data + b"10=%03d\x01" % (sum(data) % 256)


class FixClient:
    """One connection of a member. `number` is the MsgSeqNum(34) to be sent next."""

    def __init__(self, own: socket.socket, comp_id: str, number: int) -> None:
        self.socket = own
        self.comp_id = comp_id
        self.number = number
        self.received = b""
        """Every byte that came, whole frames of it in `frames`."""
        self._looked_at = 0
        self._found: list[str] = []

    @classmethod
    async def connect(
        cls, port: int, comp_id: str = "ACME-1", number: int = 1, receive_buffer: int | None = None
    ) -> "FixClient":
        own = socket.socket()
        own.setblocking(False)
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", port))
        except OSError:
            own.close()
            raise
        return cls(own, comp_id, number)

    def frame(self, msg_type: str, body: str = "") -> bytes:
        """The next frame of this client."""
        data = framed(f"35={msg_type}|49={self.comp_id}|56=ORDINAL|34={self.number}|52={utc_now()}|{body}")
        self.number += 1
        return data

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def log_on(self, body: str = "98=0|108=30|554=demo|") -> None:
        await self.send(self.frame("A", body))

    async def order(self, cl_ord_id: str, terms: str) -> None:
        """A limit order: `terms` are side, quantity, symbol and price, as in `buy 10 ALFA 9.90`."""
        await self.send(self.order_frame(cl_ord_id, terms))

    def order_frame(self, cl_ord_id: str, terms: str) -> bytes:
        side, quantity, symbol, price = terms.split()
        return self.frame(
            "D",
            f"11={cl_ord_id}|55={symbol}|54={1 if side == 'buy' else 2}|60={utc_now()}|38={quantity}|40=2|"
            f"44={price}|59=1|",
        )

    async def cancel(self, cl_ord_id: str, orig_cl_ord_id: str, side: str = "buy", symbol: str = "ALFA") -> None:
        number = 1 if side == "buy" else 2
        body = f"11={cl_ord_id}|41={orig_cl_ord_id}|55={symbol}|54={number}|60={utc_now()}|38=1|"
        await self.send(self.frame("F", body))

    async def _more(self) -> bool:
        data = await asyncio.get_running_loop().sock_recv(self.socket, 262_144)
        self.received += data
        self._found += self._whole()
        return bool(data)

    def _whole(self) -> list[str]:
        found = []
        for match in _FRAME.finditer(self.received, self._looked_at):
            assert match.start() == self._looked_at, "bytes between frames"
            self._looked_at = match.end()
            data = match.group()
            assert int(match[1]) == len(match[2])
            assert int(match[3]) == sum(data[: -len(b"10=000|")]) % 256
            text = match[2].decode("latin-1").replace("\x01", "|")
            assert f"|49=ORDINAL|56={self.comp_id}|" in text, "somebody else's frame"
            found.append(_VARYING.sub(r"|\1=T", text))
        return found

    async def frames(self, count: int) -> list[str]:
        """The next `count` frames without 8, 9 and 10, times as T."""
        async with asyncio.timeout(DEADLINE_S):
            while len(self._found) < count:
                assert await self._more(), self._found[-3:]
        found, self._found = self._found[:count], self._found[count:]
        return found

    async def first_frame(self) -> str:
        """The next frame, which stays the next; empty when the connection ends instead."""
        async with asyncio.timeout(DEADLINE_S):
            while not self._found and await self._more():
                pass
        return self._found[0] if self._found else ""

    async def until(self, last: str) -> list[str]:
        """Every frame up to the first that contains `last`."""
        looked_at = 0
        async with asyncio.timeout(DEADLINE_S):
            while True:
                for index in range(looked_at, len(self._found)):
                    if last in self._found[index]:
                        return await self.frames(index + 1)
                looked_at = len(self._found)
                assert await self._more(), (last, self._found[-3:])

    async def until_closed(self) -> list[str]:
        """Every frame up to the end of the connection."""
        async with asyncio.timeout(DEADLINE_S):
            with contextlib.suppress(ConnectionResetError):
                while await self._more():
                    pass
        self.socket.close()
        return self._found

    async def heartbeat(self, reference: str) -> list[str]:
        """Every frame up to the answer to a TestRequest: what came before has been dealt with."""
        await self.send(self.frame("1", f"112={reference}|"))
        return await self.until(f"|112={reference}|")

    async def log_off(self) -> list[str]:
        """Logout, its answer, close; what else came is returned."""
        await self.send(self.frame("5"))
        found = await self.until("35=5|")
        self.close()
        return found[:-1]

    def close(self) -> None:
        self.socket.close()

    def vanish(self) -> None:
        """RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def numbers(frames: list[str]) -> list[int]:
    """MsgSeqNum(34) of each frame."""
    found = []
    for text in frames:
        match = _NUMBER.search(text)
        assert match is not None
        found.append(int(match[1]))
    return found


def values(frames: list[str], tag: int) -> list[str]:
    """The values of a tag, in the frames that have it."""
    return [match for text in frames for match in re.findall(rf"\|{tag}=([^|]*)\|", text)]

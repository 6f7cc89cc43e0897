"""The peer: a QuickFIX acceptor (C++ engine, Python callback) that answers each order with one report.

`python -m bench.quickfix_acceptor PORT COMP_ID...`: memory store, no dictionary, no log, no matching, no copies.
Prints `ready` when it listens; ends with its standard input.
"""

import sys
import tempfile
from pathlib import Path

import quickfix as fix
import quickfix44 as fix44

from bench.fix_text import VENUE


class Acknowledger(fix.Application):
    """Answers NewOrderSingle(D) with 150=0 and OrderCancelRequest(F) with 150=4."""

    def __init__(self) -> None:
        super().__init__()
        self._reports = 0

    def onCreate(self, session: fix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogon(self, session: fix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def onLogout(self, session: fix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def toAdmin(self, message: fix.Message, session: fix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def fromAdmin(self, message: fix.Message, session: fix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def toApp(self, message: fix.Message, session: fix.SessionID) -> None:  # noqa: N802
        """Nothing to do."""

    def fromApp(self, message: fix.Message, session: fix.SessionID) -> None:  # noqa: N802
        """One report per request."""
        kind = message.getHeader().getField(35)
        self._reports += 1
        number = str(self._reports)
        quantity = message.getField(38)
        report = fix44.ExecutionReport()
        set_field = report.setField
        set_field(37, number)
        set_field(17, number)
        set_field(11, message.getField(11))
        set_field(55, message.getField(55))
        set_field(54, message.getField(54))
        set_field(38, quantity)
        if kind == "D":
            set_field(44, message.getField(44))
            state, leaves = "0", quantity
        else:
            set_field(41, message.getField(41))
            state, leaves = "4", "0"
        set_field(150, state)
        set_field(39, state)
        set_field(151, leaves)
        set_field(14, "0")
        set_field(6, "0")
        set_field(60, message.getField(60))
        fix.Session.sendToTarget(report, session)


def _settings(port: int, comp_ids: list[str]) -> str:
    default = [
        "[DEFAULT]", "ConnectionType=acceptor", "BeginString=FIX.4.4", f"SenderCompID={VENUE}",
        f"SocketAcceptPort={port}", "SocketAcceptHost=127.0.0.1", "SocketReuseAddress=Y", "SocketNodelay=Y",
        "UseDataDictionary=N", "StartTime=00:00:00", "EndTime=00:00:00", "PersistMessages=N", "CheckLatency=N",
    ]  # fmt: skip
    for comp_id in comp_ids:
        default += ["[SESSION]", f"TargetCompID={comp_id}"]
    return "\n".join(default) + "\n"


def main() -> None:
    """Serve until standard input ends."""
    port, comp_ids = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "acceptor.cfg"
        path.write_text(_settings(port, comp_ids))
        settings = fix.SessionSettings(str(path))
    application = Acknowledger()
    acceptor = fix.SocketAcceptor(application, fix.MemoryStoreFactory(), settings)
    acceptor.start()
    print("ready", flush=True)
    sys.stdin.read()
    acceptor.stop(True)


if __name__ == "__main__":
    main()

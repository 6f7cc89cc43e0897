"""A stock QuickFIX as a client, validating all it receives with the stock dictionary."""

import importlib.util
import queue
from pathlib import Path

import quickfix

DEADLINE_S = 30.0
SETTINGS = """[DEFAULT]
ConnectionType=initiator
StartTime=00:00:00
EndTime=00:00:00
ReconnectInterval=1
HeartBtInt=30
UseDataDictionary=Y
DataDictionary={dictionary}
SocketConnectHost=127.0.0.1
SocketConnectPort={port}
ResetOnLogon={reset}
[SESSION]
BeginString=FIX.4.4
SenderCompID={comp_id}
TargetCompID=ORDINAL
"""


def stock_dictionary() -> Path:
    """The FIX44.xml that an installed package carries; none is kept here."""
    spec = importlib.util.find_spec("fixcore")
    assert spec is not None
    assert spec.origin is not None
    found = sorted(Path(spec.origin).parent.rglob("FIX44.xml"))
    assert found, "no stock FIX44.xml in the installed fixcore-engine"
    return found[0]


class _Application(quickfix.Application):  # type: ignore[misc]
    def __init__(self, client: "StockClient") -> None:
        super().__init__()
        self._client = client

    def onCreate(self, session: object) -> None:  # noqa: N802 - QuickFIX's names
        self._client.session = session

    def onLogon(self, session: object) -> None:  # noqa: N802
        self._client.events.put("logon")

    def onLogout(self, session: object) -> None:  # noqa: N802
        self._client.events.put("logout")

    def toAdmin(self, message: quickfix.Message, session: object) -> None:  # noqa: N802
        if message.getHeader().getField(35) == "A":
            message.setField(quickfix.StringField(554, self._client.password))
        elif message.getHeader().getField(35) in "3j":
            self._client.rejected.append(message.toString())

    def toApp(self, message: quickfix.Message, session: object) -> None:  # noqa: N802
        if message.getHeader().getField(35) == "j":
            self._client.rejected.append(message.toString())

    def fromAdmin(self, message: quickfix.Message, session: object) -> None:  # noqa: N802
        return

    def fromApp(self, message: quickfix.Message, session: object) -> None:  # noqa: N802
        self._client.reports.put(message.toString())


class StockClient:
    """One QuickFIX initiator. `rejected` holds every Reject it sent: what we sent that its dictionary refuses."""

    def __init__(self, scratch: Path, port: int, comp_id: str, password: str = "demo", reset: str = "Y") -> None:
        self.events: queue.Queue[str] = queue.Queue()
        self.reports: queue.Queue[str] = queue.Queue()
        self.rejected: list[str] = []
        self.session: object = None
        self.password = password
        path = scratch / f"{comp_id}.cfg"
        path.write_text(SETTINGS.format(dictionary=stock_dictionary(), port=port, comp_id=comp_id, reset=reset))
        self._application = _Application(self)
        self._settings = quickfix.SessionSettings(str(path))
        self._stores = quickfix.MemoryStoreFactory()
        self._initiator = quickfix.SocketInitiator(self._application, self._stores, self._settings)

    def __enter__(self) -> "StockClient":
        self._initiator.start()
        assert self.events.get(timeout=DEADLINE_S) == "logon"
        return self

    def __exit__(self, *error: object) -> None:
        self._initiator.stop()
        # QuickFIX registers sessions by their id for the whole process, until the initiator is gone.
        del self._initiator

    def send(self, msg_type: str, fields: dict[int, str]) -> None:
        """Send an application message; TransactTime(60) is added."""
        message = quickfix.Message()
        message.getHeader().setField(quickfix.StringField(35, msg_type))
        for tag, value in fields.items():
            message.setField(quickfix.StringField(tag, value))
        message.setField(quickfix.TransactTime())
        assert quickfix.Session.sendToTarget(message, self.session)

    def report(self) -> dict[int, str]:
        """The next application message received, as fields without header and trailer."""
        text = self.reports.get(timeout=DEADLINE_S)
        pairs = (field.split("=", 1) for field in text.split("\x01") if field)
        return {int(tag): value for tag, value in pairs if int(tag) not in (8, 9, 10, 34, 49, 52, 56)}

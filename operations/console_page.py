"""The console: one plain page of what the monitor knows, for a human with a browser and no dashboard."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from operations.facts_poller import Polled
from operations.health import Health

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1c2733 }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem .8rem .2rem 0 }
th { font-weight: 600; border-bottom: 1px solid #c9d2dc } td { border-bottom: 1px solid #eef1f4 }
.ok { color: #14683a } .degraded { color: #8a5a00 } .failed { color: #a3211b }
@media (prefers-color-scheme: dark) {
 body { background: #12171d; color: #dbe3ea } td { border-color: #222a33 } th { border-color: #3a4653 }
 .ok { color: #6fd39b } .degraded { color: #e7b65a } .failed { color: #f08a84 } a { color: #8fb8f0 }
}
"""


def console_page(venue: str, polled: Mapping[str, Polled], health: Health) -> str:
    """The page as HTML. It asks for itself again every two seconds."""
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(venue)}: {health.status}</title><style>{_STYLE}</style></head><body>",
            f'<h1>{escape(venue)}: <span class="{health.status}">{health.status}</span></h1>',
            _table("Health", ("check", "connected", "caught up", "current", "age", "reason"), _health_rows(health)),
            _table("Partitions", ("partition", "epoch", "sequenced", "committed:1", "streams"), _partitions(polled)),
            _table("Decoders", ("decoder", "partition", "copy", "position", "behind"), _decoders(polled)),
            _table("Sessions", ("session", "gateway", "connected", "next in", "next out"), _sessions(polled)),
            _table("Refused logons", ("session", "reason"), _refused_logons(polled)),
            '<p><a href="/metrics">metrics</a> · <a href="/health/ready">health</a></p></body></html>',
        )
    )


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _health_rows(health: Health) -> Iterable[Sequence[object]]:
    for check in health.checks:
        facts = (_yes(check.connected), _yes(check.caught_up), _yes(check.current))
        yield (check.name, *facts, f"{check.age_s:.1f} s", check.reason)


def _partitions(polled: Mapping[str, Polled]) -> Iterable[Sequence[object]]:
    for answer in polled.values():
        for row in (answer.facts or {}).get("partitions", []):
            levels = row["levels"]
            yield row["name"], row["epoch"], levels["sequenced"], levels["committed:1"], row["streams"]


def _decoders(polled: Mapping[str, Polled]) -> Iterable[Sequence[object]]:
    for answer in polled.values():
        for row in (answer.facts or {}).get("decoders", []):
            behind = max(0, row["input_end"] - row["position"])
            yield row["kind"], row["partition"], row["tag"], row["position"], behind


def _sessions(polled: Mapping[str, Polled]) -> Iterable[Sequence[object]]:
    for name, answer in polled.items():
        for row in (answer.facts or {}).get("sessions", []):
            yield row["name"], name, _yes(row["connected"]), row["next_in"], row["next_out"]


def _refused_logons(polled: Mapping[str, Polled]) -> Iterable[Sequence[object]]:
    for answer in polled.values():
        for row in reversed((answer.facts or {}).get("refused_logons", [])):
            yield row["session"] or "", row["reason"]

"""The command line: `ordinal`. Parses, calls one piece of operations, and turns its outcome into an exit code.

Exit codes: 0 done, 1 the check failed, 2 wrong use or bad config, 3 could not reach the venue.
"""

import getpass
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.progress import Progress, TaskID

from exchange.hosting.log import set_up_logging
from exchange.records.record import Record
from operations.audit import audit_venue
from operations.child_process import command_line
from operations.config import hashed_password, load_venue
from operations.failures import CommandError, WrongUseError
from operations.fix_terminal import LogonAs, run_terminal
from operations.node import NODE, run_venue, write_process_config
from operations.process_plan import OPERATOR, default_data_dir, entry_module, plan_processes, run_dir
from operations.record_text import record_to_json, record_to_line
from operations.reference_data import publish_reference_data
from operations.status import print_status, venue_status
from operations.supervision import pid_of
from operations.tail import Wanted, tail_partition
from operations.venue import Venue

_WRONG_USE: type[Exception] = typer.BadParameter.__mro__[2]
"""What the command-line parser raises for wrong use; typer gives the class no name of its own."""

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The venue's config, such as config/demo.toml.")]
Data = Annotated[Path | None, typer.Option("--data", help="Data directory. Default: ./data/<name of the config>.")]
PortBase = Annotated[int | None, typer.Option("--port-base", help="Moves every port: 9100 makes 9001 into 9101.")]
Host = Annotated[str | None, typer.Option("--host", help="Address that ports listen on, instead of the config's.")]

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]

app = typer.Typer(
    name="ordinal",
    help="An exchange built from sequenced streams, spoken to in FIX.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def run(config: Config, data: Data = None, port_base: PortBase = None, host: Host = None) -> None:
    """Start every process of the venue on this node, and stop them in order on SIGTERM or Ctrl-C.

    A second start continues from the data, book and all.

    Example: ordinal run config/demo.toml --data /tmp/demo --port-base 9100
    """
    venue = load_venue(config, port_base, host)
    set_up_logging(NODE)
    uvloop.run(run_venue(venue, data or default_data_dir(config), _announce))


def _announce(venue: Venue) -> None:
    """Print every endpoint, once the venue is open."""
    lines = [
        f"  FIX order entry  {venue.host}:{gateway.order_entry_port}  (TargetCompID {venue.comp_id})"
        for gateway in venue.of_family("gateway")
    ]
    for monitor in venue.of_family("monitor"):
        address = f"http://{venue.host}:{monitor.http_port}"
        lines += [f"  metrics          {address}/metrics", f"  health           {address}/health/ready"]
        lines += [f"  console          {address}/"]
    print("\n".join([f"{venue.name} is open", *lines, "Ctrl-C stops it"]), flush=True)


@app.command()
def process(
    config: Config,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A process of the config, or `operator`.")],
    data: Data = None,
    port_base: PortBase = None,
    host: Host = None,
) -> None:
    """Start one process of the venue, in the place of this command (for containers).

    The name `operator` publishes the reference data that the config has and the venue lacks, and ends.

    Example: ordinal process config/demo.toml matcher-a --data /var/lib/ordinal
    """
    venue = load_venue(config, port_base, host)
    data_dir = data or default_data_dir(config)
    if name == OPERATOR:
        set_up_logging(OPERATOR)
        uvloop.run(publish_reference_data(venue, data_dir))
        return
    if name not in venue.processes:
        raise WrongUseError(f"{config}: no process {name}; allowed: {', '.join((*venue.processes, OPERATOR))}")
    running = uvloop.run(pid_of(run_dir(data_dir) / f"{name}.sock"))
    if running is not None:
        raise WrongUseError(f"{config}: {name} runs already, with pid {running}; allowed: one of each process")
    told = write_process_config(plan_processes(venue, data_dir)[name])
    command = command_line(entry_module(venue.processes[name]), told)
    os.execv(command[0], command)


@app.command()
def status(config: Config, data: Data = None, port_base: PortBase = None, as_json: Json = False) -> None:
    """Show processes, partitions with their levels, decoders with their lag, sessions, refused logons and health.

    Example: ordinal status config/demo.toml --json
    """
    venue = load_venue(config, port_base)
    found = uvloop.run(venue_status(venue, data or default_data_dir(config)))
    if as_json:
        print(json.dumps(found))
    else:
        print_status(found, _console())


@app.command()
def tail(
    config: Config,
    partition: Annotated[str, typer.Argument(metavar="PARTITION", help="Such as sym-1.")],
    first: Annotated[int, typer.Option("--from", min=0, help="The first position shown.")] = 0,
    end: Annotated[int | None, typer.Option("--to", min=0, help="The position to stop before.")] = None,
    stream: Annotated[str | None, typer.Option(help="Show this stream only, such as tape.")] = None,
    level: Annotated[str, typer.Option(help="sequenced, or committed:1.")] = "committed:1",
    follow: Annotated[bool, typer.Option(help="Go on with what is sequenced from now on.")] = False,
    as_json: Json = False,
    data: Data = None,
    port_base: PortBase = None,
) -> None:
    """Show the records of a partition, decoded. Works on a running venue and on a stopped one.

    Example: ordinal tail config/demo.toml sym-1 --stream tape --follow
    """
    venue = load_venue(config, port_base)
    wanted = Wanted(partition, first, end, stream, level, follow)
    to_text = record_to_json if as_json else record_to_line

    def show(record: Record) -> None:
        print(to_text(record), flush=follow)

    set_up_logging("tail", "error")
    try:
        uvloop.run(tail_partition(venue, data or default_data_dir(config), wanted, show))
    except KeyboardInterrupt:
        if not follow:  # Ctrl-C is how following ends
            raise


@app.command()
def audit(
    config: Config,
    partition: Annotated[str | None, typer.Argument(metavar="[PARTITION]", help="Only this one.")] = None,
    data: Data = None,
    port_base: PortBase = None,
) -> None:
    """Derive the tape and every participant's stream again and compare them with the log, byte for byte.

    Ends with 1 and shows the first difference, when there is one.

    Example: ordinal audit config/demo.toml
    """
    venue = load_venue(config, port_base)
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done)

        audited = audit_venue(venue, data or default_data_dir(config), partition, progress)
    for entry in audited:
        unwritten = f", {entry.unwritten} not written yet" if entry.unwritten else ""
        print(f"{entry.partition} {entry.stream}: {entry.equal} records equal what {entry.source} derives{unwritten}")
    print(f"no difference in {sum(entry.equal for entry in audited)} records")


@app.command()
def client(
    address: Annotated[str, typer.Argument(metavar="HOST:PORT", help="The venue's order-entry port.")],
    session: Annotated[str, typer.Option(help="SenderCompID of the session, such as ACME-1.")],
    password: Annotated[str | None, typer.Option(help="Password; asked for when left out.")] = None,
    target: Annotated[str, typer.Option(help="TargetCompID: the venue.")] = "ORDINAL",
) -> None:
    """Trade from a terminal: log on, buy, sell, cancel, and watch the reports.

    Example: ordinal client 127.0.0.1:9001 --session ACME-1 --password demo
    """
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal() and 1 <= int(port) <= 65535):
        raise WrongUseError(f"{address} is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9001")
    if password is None:
        password = getpass.getpass(f"Password of {session}: ")
    logon = LogonAs(host, int(port), session, target, password)
    uvloop.run(run_terminal(logon, lambda text: print(text, flush=True)))


@app.command("hash-password")
def hash_password() -> None:
    """Read a password, and print its argon2 hash for the credentials file.

    Example: ordinal hash-password
    """
    password = getpass.getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not password:
        raise WrongUseError("hash-password: no password; allowed: one line of at least one character")
    print(hashed_password(password))


def _console() -> Console:
    """Output for a human; in a pipe wide enough that no column is cut."""
    return Console() if sys.stdout.isatty() else Console(width=200)


def main() -> None:
    """The console script."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Run `ordinal` with these arguments; the exit code. A user's mistake is told in lines, never in a traceback."""
    try:
        app(arguments, standalone_mode=False)
    except CommandError as error:
        for line in error.lines:
            print(line, file=sys.stderr)
        return error.exit_code
    except _WRONG_USE as error:
        print(f"ordinal: {error.format_message()}", file=sys.stderr)  # type: ignore[attr-defined]
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return 1
    return 0

"""docker-compose.yml starts the config's processes, each by an `ordinal process` that is allowed."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from operations.process_plan import OPERATOR
from tests.operations.running_demo import DEADLINE_S, ORDINAL, free_port_base, wait_until_healthy
from tests.operations.venues import demo_venue

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"


def services() -> dict[str, list[str]]:
    """Service to command. Commands are written as JSON arrays, which are YAML too."""
    body = COMPOSE.read_text().split("\nservices:\n")[1].split("\nvolumes:\n")[0]
    names = re.findall(r"^  ([a-z0-9-]+):$", body, re.MULTILINE)
    commands = [json.loads(text) for text in re.findall(r"^    command: (\[.*\])$", body, re.MULTILINE)]
    return dict(zip(names, commands, strict=True))


def test_there_is_a_service_for_each_process_and_the_operator() -> None:
    assert sorted(services()) == sorted([*demo_venue().processes, OPERATOR])


def test_each_service_runs_the_process_it_is_named_after() -> None:
    listening = [
        process.name for process in demo_venue().processes.values() if process.order_entry_port or process.http_port
    ]
    for name, command in services().items():
        host = ["--host", "0.0.0.0"] if name in listening else []
        assert command == ["process", "config/demo.toml", name, "--data", "/data", *host]


def test_published_ports_are_the_config_s() -> None:
    published = re.findall(r'ports: \["127\.0\.0\.1:(\d+):(\d+)"\]', COMPOSE.read_text())
    ports = [p.order_entry_port or p.http_port for p in demo_venue().processes.values()]
    assert published == [(str(port), str(port)) for port in ports if port]


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed")
def test_docker_compose_accepts_the_file() -> None:
    listed = subprocess.run(
        ["docker-compose", "-f", str(COMPOSE), "config", "--services"], capture_output=True, text=True, check=True
    )
    assert sorted(listed.stdout.split()) == sorted(services())


def test_the_services_commands_make_a_venue_outside_containers(tmp_path: Path) -> None:
    base = free_port_base()
    running = {}
    with (tmp_path / "log").open("wb") as log:
        for name, command in services().items():
            moved = [str(tmp_path / "data") if argument == "/data" else argument for argument in command]
            arguments = [ORDINAL, *moved, "--port-base", str(base)]
            running[name] = subprocess.Popen(arguments, cwd=COMPOSE.parent, stdout=log, stderr=log)
    try:
        assert running.pop(OPERATOR).wait(DEADLINE_S) == 0
        wait_until_healthy(base + 80)
    finally:
        for process in running.values():
            process.terminate()
        codes = {name: process.wait(DEADLINE_S) for name, process in running.items()}
    assert codes == dict.fromkeys(running, 0), (tmp_path / "log").read_text()

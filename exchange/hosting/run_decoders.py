"""A process of decoders and clocks: `python -m exchange.hosting.run_decoders CONFIG.json`."""

from collections.abc import Callable

from exchange.decoding.decoder import Decoder
from exchange.decoding.drive import DecoderDriver
from exchange.hosting.clock_driver import ClockDriver
from exchange.hosting.facts import Facts
from exchange.hosting.process import Stop, freeze_memory, run_process, sequencer_facts, serve, stream_clients
from exchange.hosting.process_config import ProcessConfig, Role
from exchange.streams.client import StreamClient
from exchange.streams.levels import SEQUENCED
from exchange.symbol_partition.matcher import Matcher
from exchange.symbol_partition.user_partitioner import UserPartitioner

Driver = DecoderDriver | ClockDriver


async def run_decoders(config: ProcessConfig, stop: Stop) -> int:
    """Drive every role of this process until told to stop."""
    clients = stream_clients(config)
    drivers = [_driver(config, Role.parse(role), clients) for role in config.roles]
    distinct = list(dict.fromkeys(clients.values()))
    for client in distinct:
        client.start()

    def facts() -> Facts:
        return {
            "ready": all(client.connected for client in distinct),
            "sequencers": sequencer_facts(config, clients),
            "decoders": [driver.facts() for driver in drivers],
        }

    server = await serve(config, facts)
    freeze_memory()
    try:
        await stop.wait([client.failed for client in distinct])
    finally:
        server.close()
        for client in distinct:
            await client.close()
    return 0


def _driver(config: ProcessConfig, role: Role, clients: dict[str, StreamClient]) -> Driver:
    partition, tag = role.partition, role.tag
    assert partition is not None
    assert tag is not None
    if role.kind == "clock":
        return ClockDriver(partition, tag, clients[partition])
    make_decoder, level = _decoder(role.kind, partition, config.settle_level)
    return DecoderDriver(make_decoder, partition, tag, level, clients)


def _decoder(kind: str, partition: str, settle_level: int) -> tuple[Callable[[], Decoder], int]:
    """How to make a decoder and from which level it reads (architecture, rule 3)."""
    if kind == "matcher":
        return lambda: Matcher(partition), SEQUENCED
    assert kind == "partitioner", f"{kind} is no decoder"
    return lambda: UserPartitioner(partition), settle_level


if __name__ == "__main__":
    run_process(run_decoders)

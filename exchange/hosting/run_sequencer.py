"""The sequencer process: `python -m exchange.hosting.run_sequencer CONFIG.json`."""

import asyncio
from pathlib import Path

from exchange.hosting.log import logger
from exchange.hosting.process import Stop, freeze_memory, run_process, serve, stream_limits
from exchange.hosting.process_config import ProcessConfig, SequencerAddress
from exchange.streams.access import AccessTable
from exchange.streams.segment import LogError
from exchange.streams.sequencer import Sequencer
from exchange.streams.sequencer_peer import Peer

log = logger()


async def run_sequencer(config: ProcessConfig, stop: Stop) -> int:
    """Repair the log, begin the epochs, serve until told to stop. 1 when the log cannot be used."""
    address = config.sequencers[config.name]
    partitions = tuple(home.name for home in config.partitions if home.sequencer == config.name)
    try:
        sequencer = Sequencer(
            Path(config.data_dir), partitions, AccessTable(config.access), stream_limits(config), address.secret
        )
    except (LogError, OSError) as error:
        log.error("log cannot be used", reason=str(error))
        return 1
    servers = await _listen(sequencer, address)
    facts_server = await serve(config, sequencer.facts)
    freeze_memory()
    await asyncio.wait((stop.requested, sequencer.stopped), return_when=asyncio.FIRST_COMPLETED)
    for server in (*servers, facts_server):
        server.close()
    sequencer.close()
    return sequencer.stopped.result() if sequencer.stopped.done() else 0


async def _listen(sequencer: Sequencer, address: SequencerAddress) -> list[asyncio.Server]:
    loop = asyncio.get_running_loop()
    servers = []
    if address.unix_path is not None:
        path = Path(address.unix_path)
        path.unlink(missing_ok=True)
        servers.append(await loop.create_unix_server(lambda: Peer(sequencer), str(path)))
        path.chmod(0o600)
    if address.tcp_host is not None:
        servers.append(await loop.create_server(lambda: Peer(sequencer), address.tcp_host, address.tcp_port))
    return servers


if __name__ == "__main__":
    run_process(run_sequencer)

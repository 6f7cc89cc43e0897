"""The monitor process: `python -m operations.run_monitor CONFIG.json`."""

import asyncio

from aiohttp import web

from exchange.hosting.log import logger
from exchange.hosting.process import Stop, run_process, serve
from exchange.hosting.process_config import ProcessConfig
from operations.monitor import Monitor

log = logger()


async def run_monitor(config: ProcessConfig, stop: Stop) -> int:
    """Watch the venue and answer HTTP until told to stop. 1 when the port cannot be had."""
    assert config.monitor is not None
    monitor = Monitor(config)
    await monitor.first_round()
    runner = web.AppRunner(monitor.application(), access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, config.monitor.host, config.monitor.port).start()
    except OSError as error:
        log.error("port cannot be used", port=config.monitor.port, reason=error.strerror)
        return 1
    watching: asyncio.Future[None] = asyncio.ensure_future(monitor.watch())
    facts_server = await serve(config, monitor.facts)
    try:
        await stop.wait((watching,))
    finally:
        facts_server.close()
        watching.cancel()
        await runner.cleanup()
    return 0


if __name__ == "__main__":
    run_process(run_monitor)

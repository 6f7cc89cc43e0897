"""The monitor: polls every process's facts and serves metrics, health and a console over HTTP.

Polling is off the request path, so a scrape costs one rendering of what is known, however the processes fare.
"""

import asyncio
import time
from pathlib import Path

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from exchange.hosting.facts import Facts
from exchange.hosting.log import logger
from exchange.hosting.process_config import ProcessConfig
from operations.console_page import console_page
from operations.facts_poller import INTERVAL_S, FactsPoller
from operations.health import FAILED, NODE, OK, Health, HealthJudge
from operations.metrics import VenueCollector

log = logger()


class Monitor:
    """What the HTTP handlers answer from, kept up to date by `watch`."""

    def __init__(self, config: ProcessConfig) -> None:
        assert config.monitor is not None
        self._config = config
        self._poller = FactsPoller(Path(config.run_dir), (*config.monitor.processes, NODE))
        self._judge = HealthJudge(config)
        self._collector = VenueCollector()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self._collector)
        self._health = self._judge.judge(self._poller.latest, time.monotonic())

    async def first_round(self) -> None:
        """Ask everybody once, so that the first verdict rests on answers."""
        await self._poller.poll_once()
        self._observe()

    async def watch(self) -> None:
        """Poll and judge until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._poller.poll_for_ever())
            group.create_task(self._judge_for_ever())

    async def _judge_for_ever(self) -> None:
        while True:
            self._observe()
            await asyncio.sleep(INTERVAL_S)

    def _observe(self) -> None:
        health = self._judge.judge(self._poller.latest, time.monotonic())
        if health.status != self._health.status:
            reasons = {check.name: check.reason for check in health.checks if check.reason}
            tell = log.info if health.status == OK else log.warning
            tell("health changed", was=self._health.status, now=health.status, reasons=reasons)
        self._health = health
        self._collector.observe(self._poller.latest, health)

    @property
    def health(self) -> Health:
        """The last verdict."""
        return self._health

    def facts(self) -> Facts:
        """What the monitor says of itself on its own facts socket: the verdict, for `ordinal status`."""
        return {"ready": True, "sequencers": {}, "health": self._health.to_json()}

    def application(self) -> web.Application:
        """The HTTP side."""
        application = web.Application()
        application.add_routes(
            [
                web.get("/", self._console),
                web.get("/metrics", self._metrics),
                web.get("/health/live", self._live),
                web.get("/health/ready", self._ready),
            ]
        )
        return application

    async def _console(self, _request: web.Request) -> web.Response:
        page = console_page(self._config.venue, self._poller.latest, self._health)
        return web.Response(text=page, content_type="text/html")

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _live(self, _request: web.Request) -> web.Response:
        """This process answers: no more, so that nobody restarts a monitor because a matcher died."""
        return web.json_response({"status": "ok"})

    async def _ready(self, _request: web.Request) -> web.Response:
        return web.json_response(self._health.to_json(), status=503 if self._health.status == FAILED else 200)

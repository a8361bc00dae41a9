"""Asks a hazardd server what holds at a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import aiohttp

from homeassistant.const import CONF_LATITUDE, CONF_LONGITUDE, CONF_TOKEN, CONF_URL
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.update_coordinator import DataUpdateCoordinator, UpdateFailed

from .const import INTERVAL, LOGGER, SEVERITIES, TIMEOUT, WATCHED


@dataclass
class Here:
    """What holds at a place."""

    hazards: dict[str, dict[str, Any]]  # by uuid, the worst first
    watched: str

    @property
    def worst(self) -> str | None:
        """The worst level. "none" only where somebody watches: else it is not known."""
        levels = [h["severity"] for h in self.hazards.values() if h["severity"] in SEVERITIES]
        if levels:
            return max(levels, key=SEVERITIES.index)
        return "none" if self.watched == "covered" and not self.hazards else None


async def ask(session: aiohttp.ClientSession, data: dict[str, Any]) -> Here:
    """Ask once. Raises aiohttp.ClientError, TimeoutError or ValueError."""
    headers = {"Accept": "application/json"}
    if data.get(CONF_TOKEN):
        headers["Authorization"] = f"Bearer {data[CONF_TOKEN]}"
    params = {"lat": str(data[CONF_LATITUDE]), "lon": str(data[CONF_LONGITUDE])}
    async with session.get(
        data[CONF_URL].rstrip("/") + "/here",
        params=params,
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=TIMEOUT),
    ) as answer:
        answer.raise_for_status()
        body = await answer.json()
    try:
        if body["watched"] not in WATCHED:
            raise ValueError(f"watched is {body['watched']!r}")
        return Here({h["uuid"]: h for h in body["hazards"]}, body["watched"])
    except (KeyError, TypeError) as err:
        raise ValueError(f"this is not an answer of hazardd: {err!r}") from err


class Coordinator(DataUpdateCoordinator[Here]):
    """Asks each minute. Between a failure and the next answer nothing is known."""

    def __init__(self, hass, entry) -> None:
        """Make a coordinator of one place."""
        super().__init__(hass, LOGGER, config_entry=entry, name=entry.title, update_interval=INTERVAL)
        self._session = async_get_clientsession(hass)

    async def _async_update_data(self) -> Here:
        try:
            return await ask(self._session, self.config_entry.data)
        except (aiohttp.ClientError, TimeoutError, ValueError) as err:
            raise UpdateFailed(f"cannot read hazards: {err}") from err

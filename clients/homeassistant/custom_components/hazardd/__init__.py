"""Hazards at a place, of a hazardd server."""

from __future__ import annotations

from homeassistant.const import Platform

from .coordinator import Coordinator

PLATFORMS = [Platform.GEO_LOCATION, Platform.SENSOR]


async def async_setup_entry(hass, entry) -> bool:
    """Set up one place."""
    coordinator = Coordinator(hass, entry)
    await coordinator.async_config_entry_first_refresh()
    entry.runtime_data = coordinator
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    return True


async def async_unload_entry(hass, entry) -> bool:
    """Remove one place."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)

"""Hazards on the map."""

from __future__ import annotations

from homeassistant.components.geo_location import GeolocationEvent
from homeassistant.const import UnitOfLength
from homeassistant.core import callback
from homeassistant.helpers.update_coordinator import CoordinatorEntity

from .const import DOMAIN


async def async_setup_entry(hass, entry, async_add_entities) -> None:
    """Add the hazards of one place, and keep them up to date."""
    coordinator = entry.runtime_data
    shown: dict[str, Hazard] = {}

    @callback
    def update() -> None:
        if not coordinator.last_update_success:
            return  # the hazards stay, and are unavailable
        now = coordinator.data.hazards
        for uuid in shown.keys() - now.keys():
            hass.async_create_task(shown.pop(uuid).async_remove(force_remove=True))
        new = {uuid: Hazard(coordinator, uuid) for uuid in now if uuid not in shown}
        shown.update(new)
        async_add_entities(new.values())

    entry.async_on_unload(coordinator.async_add_listener(update))
    update()


class Hazard(CoordinatorEntity, GeolocationEvent):
    """One hazard. Its state is the distance."""

    _attr_source = DOMAIN
    _attr_unit_of_measurement = UnitOfLength.KILOMETERS
    _attr_icon = "mdi:alert"

    def __init__(self, coordinator, uuid: str) -> None:
        """Make the entity of a hazard."""
        super().__init__(coordinator)
        self._uuid = uuid
        self._read()

    def _read(self) -> None:
        h = self.coordinator.data.hazards.get(self._uuid)
        if h is None:
            return  # it is being removed
        self._attr_name = h["headline"]
        self._attr_latitude, self._attr_longitude = h["lat"], h["lon"]
        self._attr_distance = h["distance_km"]  # None: only its region or country is known
        self._attr_extra_state_attributes = {
            "external_id": self._uuid,
            **{key: h[key] for key in ("severity", "type", "starts", "ends", "certain")},
        }

    @callback
    def _handle_coordinator_update(self) -> None:
        if self.coordinator.last_update_success:
            self._read()
        super()._handle_coordinator_update()

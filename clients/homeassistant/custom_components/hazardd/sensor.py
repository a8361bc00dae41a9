"""Sensors: how many hazards there are, the worst level, and whether somebody watches."""

from __future__ import annotations

from homeassistant.components.sensor import SensorDeviceClass, SensorEntity, SensorStateClass
from homeassistant.helpers.update_coordinator import CoordinatorEntity

from .const import SEVERITIES, WATCHED


async def async_setup_entry(hass, entry, async_add_entities) -> None:
    """Add the sensors of one place."""
    async_add_entities([Count(entry), Worst(entry), Watched(entry)])


class _Sensor(CoordinatorEntity, SensorEntity):
    """A sensor of a place."""

    _attr_has_entity_name = True
    _key: str

    def __init__(self, entry) -> None:
        super().__init__(entry.runtime_data)
        self._attr_unique_id = f"{entry.entry_id}-{self._key}"
        self._attr_translation_key = self._key


class Count(_Sensor):
    """How many hazards there are at the place or near it."""

    _key = "hazards"
    _attr_state_class = SensorStateClass.MEASUREMENT

    @property
    def native_value(self) -> int:
        """The number."""
        return len(self.coordinator.data.hazards)

    @property
    def extra_state_attributes(self) -> dict:
        """The headlines, the worst hazard's first."""
        return {"headlines": [h["headline"] for h in self.coordinator.data.hazards.values()]}


class Worst(_Sensor):
    """The worst level. It is unknown where there is no hazard and nobody watches."""

    _key = "worst"
    _attr_device_class = SensorDeviceClass.ENUM
    _attr_options = ["none", *SEVERITIES]

    @property
    def native_value(self) -> str | None:
        """The level."""
        return self.coordinator.data.worst


class Watched(_Sensor):
    """Whether somebody who warns at the place is read."""

    _key = "watched"
    _attr_device_class = SensorDeviceClass.ENUM
    _attr_options = WATCHED

    @property
    def native_value(self) -> str:
        """The word of GET /coverage."""
        return self.coordinator.data.watched

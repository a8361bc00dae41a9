"""Classes in place of Home Assistant's, which is not on the machines of the tests.

They do what https://developers.home-assistant.io says of these interfaces, as far as the integration
uses them, and nothing else.
"""

import asyncio
import enum
import sys
import types

import aiohttp


class UpdateFailed(Exception):
    """Fetching data: raised by _async_update_data when the service does not answer."""


class AbortFlow(Exception):
    """Config flow: the entry is there already."""


class _Generic:
    def __class_getitem__(cls, _):
        return cls


class DataUpdateCoordinator(_Generic):
    """Fetching data: one place that asks, and listeners that are told."""

    def __init__(self, hass, logger, *, config_entry, name, update_interval):
        self.hass, self.config_entry, self.update_interval = hass, config_entry, update_interval
        self.data, self.last_update_success, self._listeners = None, True, []

    def async_add_listener(self, update):
        self._listeners.append(update)
        return lambda: self._listeners.remove(update)

    async def async_refresh(self):
        try:
            self.data = await self._async_update_data()
            self.last_update_success = True
        except UpdateFailed as err:
            self.last_update_success, self.last_exception = False, err
        for update in list(self._listeners):
            update()

    async def async_config_entry_first_refresh(self):
        await self.async_refresh()
        if not self.last_update_success:
            raise self.last_exception


class Entity:
    """Entity: properties are read from _attr_ members."""

    _attr_name = _attr_unique_id = None
    _attr_extra_state_attributes = None

    def __init__(self):
        self.writes, self.removed = 0, False

    @property
    def name(self):
        return self._attr_name

    @property
    def extra_state_attributes(self):
        return self._attr_extra_state_attributes

    def async_write_ha_state(self):
        assert not self.removed
        self.writes += 1

    async def async_remove(self, *, force_remove=False):
        self.removed = force_remove
        self._unlisten()


class CoordinatorEntity(Entity, _Generic):
    """Fetching data: an entity that listens to a coordinator, and is available as it is."""

    def __init__(self, coordinator):
        super().__init__()
        self.coordinator = coordinator

    @property
    def available(self):
        return self.coordinator.last_update_success

    async def async_added_to_hass(self):
        self._unlisten = self.coordinator.async_add_listener(self._handle_coordinator_update)

    def _handle_coordinator_update(self):
        self.async_write_ha_state()


class GeolocationEvent(Entity):
    """Geolocation entity: source, position and distance."""

    _attr_latitude = _attr_longitude = _attr_distance = None

    source = property(lambda self: self._attr_source)
    latitude = property(lambda self: self._attr_latitude)
    longitude = property(lambda self: self._attr_longitude)
    distance = property(lambda self: self._attr_distance)


class SensorEntity(Entity):
    """Sensor entity: an enum has no state that is not one of its options."""

    _attr_device_class = _attr_options = None

    @property
    def checked(self):
        value = self.native_value
        if self._attr_device_class == SensorDeviceClass.ENUM:
            assert value is None or value in self._attr_options, value
        return value


class SensorDeviceClass(enum.Enum):
    ENUM = "enum"


class SensorStateClass(enum.Enum):
    MEASUREMENT = "measurement"


class ConfigFlow:
    """Config flow: steps that show a form, make an entry or abort."""

    def __init_subclass__(cls, domain):
        cls.domain = domain

    async def async_set_unique_id(self, unique_id):
        self.unique_id = unique_id

    def _abort_if_unique_id_configured(self):
        if self.unique_id in self.hass.entries:
            raise AbortFlow("already_configured")

    def async_show_form(self, *, step_id, data_schema, errors):
        return {"type": "form", "step_id": step_id, "data_schema": data_schema, "errors": errors}

    def async_create_entry(self, *, title, data):
        self.hass.entries.add(self.unique_id)
        return {"type": "create_entry", "title": title, "data": data}

    def add_suggested_values_to_schema(self, schema, _):
        return schema


class ConfigEntry:
    """Config entry: what a flow made, and what is undone when it is removed."""

    def __init__(self, title, data):
        self.title, self.data, self.entry_id, self.undo = title, data, "entry", []

    def async_on_unload(self, undo):
        self.undo.append(undo)


class Hass:
    """The core: it sets up platforms, and adds their entities."""

    def __init__(self):
        self.config = types.SimpleNamespace(latitude=42.36, longitude=-71.06)
        self.entries, self.entities, self.config_entries, self.session = set(), [], self, aiohttp.ClientSession()
        self.tasks = []

    def async_create_task(self, work):
        self.tasks.append(asyncio.ensure_future(work))

    async def settle(self):
        await asyncio.gather(*self.tasks)

    def _add(self, entities):
        for e in entities:
            self.entities.append(e)
            self.async_create_task(e.async_added_to_hass())

    async def async_forward_entry_setups(self, entry, platforms):
        for p in platforms:
            module = __import__(f"custom_components.hazardd.{p.value}", fromlist=["async_setup_entry"])
            await module.async_setup_entry(self, entry, self._add)
        await self.settle()

    async def async_unload_platforms(self, entry, platforms):
        for undo in entry.undo:
            undo()
        return True


def install():
    """Put the classes where the integration imports them."""

    def module(name, **members):
        m = types.ModuleType("homeassistant" + name)
        m.__dict__.update(members)
        sys.modules[m.__name__] = m

    module("", __path__=[])
    module(".components", __path__=[])
    module(".helpers", __path__=[])
    module(
        ".const",
        **{f"CONF_{n}": n.lower() for n in ("LATITUDE", "LONGITUDE", "NAME", "TOKEN", "URL")},
        Platform=enum.Enum("Platform", {"GEO_LOCATION": "geo_location", "SENSOR": "sensor"}),
        UnitOfLength=enum.Enum("UnitOfLength", {"KILOMETERS": "km"}),
    )
    module(".core", callback=lambda f: f)
    module(".config_entries", ConfigFlow=ConfigFlow)
    module(".components.geo_location", GeolocationEvent=GeolocationEvent)
    module(
        ".components.sensor",
        SensorDeviceClass=SensorDeviceClass,
        SensorEntity=SensorEntity,
        SensorStateClass=SensorStateClass,
    )
    module(".helpers.aiohttp_client", async_get_clientsession=lambda hass: hass.session)
    module(
        ".helpers.update_coordinator",
        CoordinatorEntity=CoordinatorEntity,
        DataUpdateCoordinator=DataUpdateCoordinator,
        UpdateFailed=UpdateFailed,
    )
    validation = types.SimpleNamespace(string=str, url=str, latitude=float, longitude=float)
    module(".helpers.config_validation", **vars(validation))
    sys.modules["homeassistant.helpers"].config_validation = sys.modules["homeassistant.helpers.config_validation"]

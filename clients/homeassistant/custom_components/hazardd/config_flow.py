"""Asks for the server and the place."""

from __future__ import annotations

import aiohttp
import voluptuous as vol

from homeassistant.config_entries import ConfigFlow
from homeassistant.const import CONF_LATITUDE, CONF_LONGITUDE, CONF_NAME, CONF_TOKEN, CONF_URL
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from .const import DOMAIN
from .coordinator import ask


class HazarddConfigFlow(ConfigFlow, domain=DOMAIN):
    """One entry is one place on one server."""

    VERSION = 1

    async def async_step_user(self, user_input=None):
        """Ask, and try the server."""
        errors = {}
        if user_input is not None:
            place = f"{user_input[CONF_LATITUDE]} {user_input[CONF_LONGITUDE]}"
            await self.async_set_unique_id(f"{user_input[CONF_URL].rstrip('/')} {place}")
            self._abort_if_unique_id_configured()
            try:
                await ask(async_get_clientsession(self.hass), user_input)
            except aiohttp.ClientResponseError as err:
                errors["base"] = "invalid_auth" if err.status in (401, 403) else "cannot_connect"
            except (aiohttp.ClientError, TimeoutError):
                errors["base"] = "cannot_connect"
            except ValueError:
                errors["base"] = "no_hazardd"
            else:
                return self.async_create_entry(title=user_input[CONF_NAME], data=user_input)
        home = self.hass.config
        return self.async_show_form(
            step_id="user",
            data_schema=self.add_suggested_values_to_schema(
                vol.Schema(
                    {
                        vol.Required(CONF_NAME, default="Hazards"): cv.string,
                        vol.Required(CONF_URL): cv.url,
                        vol.Optional(CONF_TOKEN): cv.string,
                        vol.Required(CONF_LATITUDE, default=home.latitude): cv.latitude,
                        vol.Required(CONF_LONGITUDE, default=home.longitude): cv.longitude,
                    }
                ),
                user_input,
            ),
            errors=errors,
        )

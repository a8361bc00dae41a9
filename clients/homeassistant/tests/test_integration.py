"""The integration against a real server, whose address and tokens are in the environment."""

import json
import os
import pathlib
import sys
import unittest

root = pathlib.Path(__file__).parent.parent
sys.path[:0] = [str(root), str(root / "tests")]

import standin  # noqa: E402

standin.install()

from custom_components.hazardd import async_setup_entry, async_unload_entry  # noqa: E402
from custom_components.hazardd.config_flow import HazarddConfigFlow  # noqa: E402
from custom_components.hazardd.coordinator import Here  # noqa: E402

URL, READER, EDITOR = (os.environ["HAZARDD_" + name] for name in ("URL", "READER", "EDITOR"))
PLACE = {"name": "Home", "url": URL, "token": READER, "latitude": 42.36, "longitude": -71.06}


class Test(unittest.IsolatedAsyncioTestCase):
    """What a user of Home Assistant sees."""

    async def asyncSetUp(self):
        """Make a Home Assistant."""
        self.hass = standin.Hass()

    async def asyncTearDown(self):
        """End its connections."""
        await self.hass.session.close()

    async def write(self, method, path, body):
        """Send a request as an editor."""
        headers = {"Authorization": f"Bearer {EDITOR}"}
        async with self.hass.session.request(method, URL + path, json=body, headers=headers) as a:
            text = await a.text()
            self.assertLess(a.status, 300, text)
            return json.loads(text)

    async def test_the_flow_tries_the_server(self):
        """A wrong server, a wrong token, what is no hazardd, and then an entry, once."""
        flow = HazarddConfigFlow()
        flow.hass = self.hass
        form = await flow.async_step_user()
        self.assertEqual((form["type"], form["errors"]), ("form", {}))
        self.assertEqual(form["data_schema"](dict(PLACE)), PLACE)
        for change, error in (
            ({"url": "http://127.0.0.1:9"}, "cannot_connect"),
            ({"token": "wrong"}, "invalid_auth"),
            ({"url": URL + "/wrong"}, "cannot_connect"),
            ({"url": os.environ["HAZARDD_OTHER"]}, "no_hazardd"),
        ):
            got = await flow.async_step_user({**PLACE, **change})
            self.assertEqual((change, got.get("errors")), (change, {"base": error}))
        self.assertEqual((await flow.async_step_user(PLACE))["type"], "create_entry")
        with self.assertRaises(standin.AbortFlow):
            await flow.async_step_user({**PLACE, "url": URL + "/"})

    async def test_hazards_come_change_and_go(self):
        """Sensors and the map follow the server, and a failure is no calm."""
        body = {"type_ID": "FLOOD", "latitude": 42.36, "longitude": -71.06, "category_ID": "EVENT"}
        first = await self.write("POST", "/hazards", {"hazard_Name": "Flood A", "severity_ID": "WARNING", **body})
        entry = standin.ConfigEntry("Home", dict(PLACE))
        self.assertTrue(await async_setup_entry(self.hass, entry))
        *hazards, count, worst, watched = self.hass.entities
        self.assertEqual((count.checked, worst.checked, watched.checked), (1, "WARNING", "unknown"))
        self.assertIn("Flood A", count.extra_state_attributes["headlines"][0])
        [a] = hazards
        self.assertIn("Flood A", a.name)
        self.assertEqual((a.source, a.latitude, a.longitude, a.distance), ("hazardd", 42.36, -71.06, 0))
        self.assertEqual(a.extra_state_attributes["severity"], "WARNING")
        self.assertEqual(a.extra_state_attributes["external_id"], first["uuid"])

        second = await self.write("POST", "/hazards", {"hazard_Name": "Flood B", "severity_ID": "WATCH", **body})
        await self.write("PATCH", "/hazards/" + first["uuid"], {"severity_ID": "ADVISORY"})
        coordinator = entry.runtime_data
        await coordinator.async_refresh()
        await self.hass.settle()
        b = self.hass.entities[-1]
        self.assertEqual((count.checked, worst.checked), (2, "WATCH"))
        self.assertIn("Flood B", b.name)
        self.assertEqual(a.extra_state_attributes["severity"], "ADVISORY")

        entry.data["url"] = "http://127.0.0.1:9"
        await coordinator.async_refresh()
        await self.hass.settle()
        self.assertEqual([e.available for e in (a, b, count, worst, watched)], [False] * 5)
        self.assertFalse(a.removed or b.removed)

        entry.data["url"] = URL
        for h in (first, second):
            await self.write("PATCH", "/hazards/" + h["uuid"], {"status": "E"})
        await coordinator.async_refresh()
        await self.hass.settle()
        self.assertTrue(a.removed and b.removed and count.available)
        self.assertEqual((count.checked, worst.checked), (0, None))  # nobody watches there

        self.assertTrue(await async_unload_entry(self.hass, entry))

    def test_silence_means_calm_only_where_somebody_watches(self):
        """The worst level without hazards."""
        self.assertEqual([Here({}, w).worst for w in ("covered", "stale", "unknown")], ["none", None, None])

    def test_its_files_are_as_home_assistant_wants_them(self):
        """The manifest of a custom integration, and its words."""
        files = root / "custom_components" / "hazardd"
        manifest = json.loads((files / "manifest.json").read_text())
        needed = {"domain", "name", "codeowners", "config_flow", "documentation", "integration_type", "iot_class", "issue_tracker", "version"}
        self.assertLessEqual(needed, manifest.keys())
        self.assertEqual(manifest["domain"], files.name)
        self.assertEqual(json.loads((files / "strings.json").read_text()), json.loads((files / "translations" / "en.json").read_text()))


if __name__ == "__main__":
    unittest.main()

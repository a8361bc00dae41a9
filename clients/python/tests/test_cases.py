"""Runs clients/cases.json against the server that HAZARDD_CASES names, as the clients in Go and TypeScript do."""

import json
import os
import pathlib
import threading
import unittest
import urllib.parse
import urllib.request

import hazardd

CONTROL = os.environ.get("HAZARDD_CASES", "")
CASES = json.loads((pathlib.Path(__file__).parents[2] / "cases.json").read_text())


def control(what: str) -> str:
    with urllib.request.urlopen(CONTROL + "/" + urllib.parse.quote(what), data=b"", timeout=60) as answer:
        return answer.read().decode()


def client(case: dict) -> hazardd.Client:
    world, login = json.loads(control("world")), case.get("login", "")
    url, by = world["url"], {"username": "editor" if login == "editor" else "reader", "password": world["password"]}
    if login == "wrong":
        by["password"] = "wrong wrong wrong"
    elif login == "factor":
        url = control("factor")
    elif login == "nowhere":
        url = "http://127.0.0.1:9"
    elif login == "refused":
        by["token"] = "a.b.c"
    elif login == "refresh":
        by = {"refresh_token": control("refresh")}
    elif login in ("limited", "impatient"):
        url = control("limited")
        by["patience"] = 0 if login == "impatient" else 30
    c = hazardd.Client(url, **by)
    c._page_size = case.get("page", 100)
    return c


def name(record: dict) -> str:
    return record.get("hazard_Name") or record.get("title") or record["type"]


def run(case: dict) -> object:
    world = json.loads(control("world"))
    filled = {k: world["before"] if v == "$BEFORE" else v for k, v in case.get("filter", {}).items()}
    hazard, c = case.get("id", "").replace("$FLOOD", world["flood"]), client(case)
    match case["call"]:
        case "count":
            return c.count(**filled)
        case "hazard":
            return [name(c.hazard(hazard))]
        case "products":
            return [name(p) for p in c.products(hazard)]
        case "hazardChanges":
            return [name(p) for p in c.hazard_changes(hazard)]
        case "writes":
            made = c.create_hazard(hazard_Name="Made here", type_ID="STORM", severity_ID="WATCH", latitude=1, longitude=2)
            note = c.create_product(made["uuid"], title="Note", product_Type="TEXT_PRODUCT", data="d")
            names = [name(made), name(c.patch_hazard(made["uuid"], hazard_Name="Named here")), name(note), name(c.patch_product(note["uuid"], title="Better note"))]
            c.delete_product(note["uuid"])
            return [*names, str(len(c.products(made["uuid"]))), c.end_hazard(made["uuid"])["status"]]
        case "changes":
            return [name(p) for p in c.changes(case["after"])]
        case "events":
            after = case.get("after", c.active().change)
            told, script = [], iter(case.get("script", []))
            acts = threading.Thread(target=lambda: [control(act) for act in script])
            acts.start()
            for event in c.events(after, **filled):
                told.append("reset" if event.reset else name(event.data["hazard"]))
                if len(told) == len(case["names"]):
                    break
            acts.join()
            return told
        case "active":
            records = c.active(**filled)
            if "possible" in case and (type(records.possible), records.possible) != (type(case["possible"]), case["possible"]):
                raise AssertionError(f"{records.possible} may be there, want {case['possible']}")
            return [name(h) for h in records]
        case call:
            return [name(h) for h in getattr(c, call)(**filled)]


@unittest.skipUnless(CONTROL, "go test ./clients starts the server for this")
class Cases(unittest.TestCase):
    def test_cases(self) -> None:
        for case in CASES:
            with self.subTest(case["name"]):
                if "error" in case:
                    with self.assertRaises(hazardd.Error) as caught:
                        run(case)
                    self.assertEqual(caught.exception.kind, case["error"], str(caught.exception))
                    self.assertIn(case.get("says", ""), str(caught.exception))
                    if "retryAfter" in case:
                        self.assertEqual(caught.exception.retry_after, case["retryAfter"])
                else:
                    self.assertEqual(run(case), case.get("names", case.get("is")))

    def test_a_filter_may_be_true(self) -> None:
        found = client({}).active(type="FLOOD", bbox=[-180, -90, 180, 90], possible=True)
        self.assertEqual([name(h) for h in found], ["High water"])

    def test_nothing_secret_is_printed(self) -> None:
        self.assertNotIn("secret", repr(hazardd.Client("http://127.0.0.1", username="a", password="secret")))


if __name__ == "__main__":
    unittest.main()

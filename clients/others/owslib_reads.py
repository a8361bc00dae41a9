"""OWSLib reads OGC API - Features. HAZARDD_URL is the service, with a key; HAZARDD_COUNT is the number of its active hazards, of which
HAZARDD_AREAS have an area."""
import os
from urllib.parse import parse_qs, urlsplit

from owslib.ogcapi.features import Features

url, count, areas = os.environ["HAZARDD_URL"], int(os.environ["HAZARDD_COUNT"]), int(os.environ["HAZARDD_AREAS"])
service = Features(url + "/ogc")
assert "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core" in service.conformance()["conformsTo"]
assert service.api()["openapi"].startswith("3."), "the description"
assert {"active-hazards", "hazards", "points", "areas"} <= set(service.feature_collections()), service.feature_collections()
assert service.collection("areas")["extent"]["spatial"]["bbox"], "an extent"
assert "severity_ID" in service.collection_queryables("areas")["properties"]

seen, cursor = [], {}
while True:
    found = service.collection_items("points", limit=15, **cursor)
    seen += [f["properties"]["hazard_Name"] for f in found["features"]]
    following = [link["href"] for link in found["links"] if link["rel"] == "next"]
    if not following:
        break
    cursor = {"cursor": parse_qs(urlsplit(following[0]).query)["cursor"][0]}
assert found["numberMatched"] == count and sorted(seen) == sorted(f"Flood {i}" for i in range(count)), seen

found = service.collection_items("areas", limit=1000)
assert len(found["features"]) == areas and all(f["geometry"]["type"] == "Polygon" for f in found["features"])
found = service.collection_items("points", bbox=[-0.1, 39.9, 0.5, 40.1])
assert sorted(f["properties"]["hazard_Name"] for f in found["features"]) == ["Flood 0", "Flood 1"], found
found = service.collection_items("points", filter="severity_ID = 'WARNING'", limit=1000)
assert len(found["features"]) == (count + 2) // 3, len(found["features"])
one = found["features"][0]
assert service.collection_item("points", one["id"])["properties"] == one["properties"]

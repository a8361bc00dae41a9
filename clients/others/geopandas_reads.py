"""GeoPandas reads the list as GeoJSON, a GeoPackage, and a collection. HAZARDD_URL is the service, with a key; HAZARDD_COUNT is the number of
its active hazards, of which HAZARDD_AREAS have an area."""
import os

import geopandas

url, count, areas = os.environ["HAZARDD_URL"], int(os.environ["HAZARDD_COUNT"]), int(os.environ["HAZARDD_AREAS"])

for path, points in {"/hazards/active?f=geojson&limit=1000": count - areas, "/hazards?f=gpkg&status=A": count - areas, "/ogc/collections/points/items?limit=1000": count}.items():
    frame = geopandas.read_file(url + path)
    kinds = frame.geom_type.value_counts()
    assert kinds.get("Point", 0) == points and kinds.get("Polygon", 0) == len(frame) - points, (path, kinds)
    assert len(frame) == count and frame["hazard_Name"].is_unique and set(frame["severity_ID"]) == {"WARNING", "WATCH", "ADVISORY"}, (path, frame)
    assert frame.crs.to_epsg() == 4326 and frame.is_valid.all(), (path, frame.crs)
    first = frame[frame["hazard_Name"] == "Flood 0"].geometry.iloc[0]
    assert (first.bounds[0], first.bounds[1]) == (0, 40), (path, first)
    if kinds.get("Polygon"):
        # 0.3 degrees at 40 degrees north are some 25.6 by 33.3 km.
        size = frame[frame["hazard_Name"] == "Flood 0"].to_crs("ESRI:54034").area.iloc[0] / 1e6
        assert 840 < size < 860, (path, size)

"""QGIS reads hazards as OGC API - Features, as ArcGIS' service and as vector tiles in the server's style.
HAZARDD_URL is the service, with a key; HAZARDD_COUNT is the number of its active hazards."""
import json
import os
import sys
import urllib.request

from qgis.core import (QgsApplication, QgsFeatureRequest, QgsMapBoxGlStyleConversionContext, QgsMapBoxGlStyleConverter, QgsRectangle,
                       QgsVectorLayer, QgsVectorTileLayer)

url, count = os.environ["HAZARDD_URL"], int(os.environ["HAZARDD_COUNT"])
app = QgsApplication([], False)
app.initQgis()

points = QgsVectorLayer(f"url='{url}/ogc' typename='points' pageSize='100' srsname='OGC:CRS84'", "points", "OAPIF")
assert points.isValid(), points.error().message()
names = [f["hazard_Name"] for f in points.getFeatures()]
assert len(names) == count and all(names), f"{len(names)} points of {count}"
box = QgsFeatureRequest().setFilterRect(QgsRectangle(-0.1, 39.9, 0.1, 40.1))
assert len(list(points.getFeatures(box))) == 1, "a box"

service = QgsVectorLayer(f"crs='EPSG:4326' url='{url}/arcgis/rest/services/hazards/FeatureServer/0'", "service", "arcgisfeatureserver")
assert service.isValid() and len(list(service.getFeatures())) == count, f"{service.featureCount()} features of the service"

tiles = QgsVectorTileLayer(f"type=xyz&url={url}/tiles/{{z}}/{{x}}/{{y}}.mvt&zmin=0&zmax=12", "tiles")
assert tiles.isValid(), "tiles"
with urllib.request.urlopen(url + "/ogc/styles/danger") as answer:
    style = json.load(answer)
converter, context = QgsMapBoxGlStyleConverter(), QgsMapBoxGlStyleConversionContext()
assert converter.convert(style, context) == QgsMapBoxGlStyleConverter.Success, converter.errorMessage()
assert not converter.warnings(), converter.warnings()
assert len(converter.renderer().styles()) == len(style["layers"]), "styles"
red = next(s for s in converter.renderer().styles() if s.styleName() == "danger-WARNING")
assert red.symbol().color().name() == "#ff0000" and "WARNING" in red.filterExpression(), red.filterExpression()
print("QGIS read", len(names))
sys.stdout.flush()
os._exit(0)  # without tearing down what is still read in the background

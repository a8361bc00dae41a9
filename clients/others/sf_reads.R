# sf, for R, reads the list as GeoJSON, a GeoPackage, and a collection. HAZARDD_URL is the service, with a key; HAZARDD_COUNT is the number of its
# active hazards, of which HAZARDD_AREAS have an area.
suppressMessages(library(sf))
url <- Sys.getenv("HAZARDD_URL")
count <- as.integer(Sys.getenv("HAZARDD_COUNT"))
areas <- as.integer(Sys.getenv("HAZARDD_AREAS"))
gpkg <- tempfile(fileext = ".gpkg")
download.file(paste0(url, "/hazards?f=gpkg&status=A"), gpkg, quiet = TRUE, mode = "wb")
for (read in list(
  st_read(paste0(url, "/hazards/active?f=geojson&limit=1000"), quiet = TRUE),
  st_read(gpkg, "hazards", quiet = TRUE),
  st_read(paste0("OAPIF:", url, "/ogc"), "active-hazards", quiet = TRUE)
)) {
  # Where points and areas are in one layer, sf makes each area one of several parts.
  kinds <- table(st_geometry_type(read))
  stopifnot(nrow(read) == count, kinds[["POLYGON"]] + kinds[["MULTIPOLYGON"]] == areas, kinds[["POINT"]] == count - areas)
  stopifnot(all(st_is_valid(read)), setequal(read$hazard_Name, paste("Flood", seq_len(count) - 1)))
  first <- st_bbox(read[read$hazard_Name == "Flood 0", ])
  stopifnot(all(abs(first - c(0, 40, 0.3, 40.3)) < 1e-9), st_crs(read)$epsg %in% 4326 || grepl("84", st_crs(read)$input))
}
rows <- read.csv(paste0(url, "/hazards/active?f=csv&limit=1000"))
stopifnot(nrow(rows) == count, is.numeric(rows$latitude), all(table(rows$severity_ID) > 0))

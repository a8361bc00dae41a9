// Package population estimates how many people live in an area, and lists the towns in it or near
// it, without network access.
//
// A Grid has the number of people in each cell of longitude and latitude. Builtin is part of the
// program: it has cells of 1/24 degree (4.6 km at the equator), made from GPW version 4.11 (people
// of 2020 in cells of 0.25 degrees) and the towns of package town; see README.md. Load makes a Grid
// from an operator's finer raster, and Folder returns the grid to use.
//
// Sum adds up the people of the cells of an area. Of each cell it takes the share that lies inside,
// in degrees, as GDAL does. Its cost has a limit (raster.ErrIntricate). Coordinates are WGS 84,
// longitude before latitude, in degrees. A Grid is safe for concurrent use.
package population

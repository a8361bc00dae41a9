// Package population says how many people live in an area, and which towns are in it or near it, without network.
//
// A Grid has people by cell of longitude and latitude. Builtin is part of the program: cells of 1/24 degree (4.6 km at the equator), made of GPW
// version 4.11 (people of 2020 by cells of 0.25 degrees) and the towns of package town; README.md says how. Load makes a Grid of a finer raster
// that an operator has, and Folder gives the one to count by.
//
// Sum adds the people of the cells of an area, of each cell as large a share as lies inside: the share in degrees, as GDAL counts it. Its cost has a
// limit (zonal.ErrIntricate). Coordinates are WGS 84, longitude before latitude, in degrees. A Grid is safe for concurrent use.
package population

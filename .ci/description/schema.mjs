// Makes of the schemas of an OpenAPI document one JSON Schema, for generators that read no more. Moments stay text: their parser would be a package of its own.
import { readFileSync, writeFileSync } from "node:fs";
const { components } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const plain = JSON.stringify(components.schemas, (name, value) => (name === "format" && value === "date-time" ? undefined : value));
const definitions = JSON.parse(plain.replaceAll("#/components/schemas/", "#/definitions/"));
const properties = Object.fromEntries(Object.keys(definitions).map((name) => [name, { $ref: `#/definitions/${name}` }]));
writeFileSync(process.argv[3], JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties, definitions }));

// Made by internal/atlas/symbol/vocabulary from internal/hazard. Do not edit: make generate.

/** Least severe first, as the service lists them; the color of the base interface, section 2.4, and that of text on it. */
export const severities = [
  { id: "TERMINATION", rank: 0, colour: "#666666", ink: "#ffffff" },
  { id: "INFORMATION", rank: 1, colour: "#3199f0", ink: "#000000" },
  { id: "ADVISORY", rank: 2, colour: "#00ff00", ink: "#000000" },
  { id: "WATCH", rank: 3, colour: "#ffff00", ink: "#000000" },
  { id: "WARNING", rank: 4, colour: "#ff0000", ink: "#000000" },
] as const;

/** Section 2.5. */
export const categories = [
  "EVENT",
  "EXERCISE",
  "OTHER",
  "RESPONSE",
] as const;

/** Section 2.3. */
export const types = [
  "ACCIDENT",
  "ACTIVESHOOTER",
  "AVALANCHE",
  "BIOMEDICAL",
  "CIVILUNREST",
  "COMBAT",
  "CONFLICT",
  "CYBER",
  "DROUGHT",
  "EARTHQUAKE",
  "EQUIPMENT",
  "EXTREMETEMPERATURE",
  "FLOOD",
  "HIGHSURF",
  "HIGHWIND",
  "INCIDENT",
  "LANDSLIDE",
  "MANMADE",
  "MARINE",
  "OCCURRENCE",
  "POLITICALCONFLICT",
  "STORM",
  "TERRORISM",
  "TORNADO",
  "CYCLONE",
  "TSUNAMI",
  "UNIT",
  "VOLCANO",
  "WEAPONS",
  "WILDFIRE",
  "WINTERSTORM",
] as const;

// Made by internal/atlas/symbol/vocabulary from internal/hazard. Do not edit: make generate.

/** Colors of the perimeters of a fire, the oldest first. */
export const growth = ["#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7"] as const;

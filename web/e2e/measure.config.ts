import config from "./playwright.config";

export default { ...config, testMatch: "measure.ts", workers: 1, projects: config.projects!.filter((p) => p.name === "wide") };

// MapLibre's files beside the map's own code: what the page and its worker share, and the worker (scripts/maplibre.mjs).
import { shared, worker } from "../../maplibre/files";

export const workerAddress = new URL(worker, location.href).href;

async function file(address: string): Promise<void> {
  if (await window.hazarddFetched?.get(new URL(address, location.href).href)) return;
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
  await answer.arrayBuffer();
}

/**
 * Fetches what a map needs before there is one, and runs the shared part: the map's code needs it. All come into the browser's cache first: a module
 * that the browser could not load stays lost to the page, and a worker whose script did not come stays silent. It is run when the page is ready.
 */
export async function library(ready?: () => Promise<void>): Promise<void> {
  await Promise.all([file(shared), file(worker)]);
  await ready?.();
  await import(/* @vite-ignore */ new URL(shared, location.href).href);
}

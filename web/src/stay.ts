// The script within both pages, since one that comes by itself can be lost with the rest: when the page's own script, or what that cannot do
// without, did not come, the page begins again once it is there. scripts/first.mjs writes it into the pages, and package web allows it by its hash.
function begun(): boolean {
  return document.documentElement.dataset["begun"] !== undefined;
}

async function look(pause: number): Promise<void> {
  const main = document.querySelector<HTMLScriptElement>('script[type="module"]');
  if (!main || begun()) return;
  try {
    if ((await fetch(main.src, { cache: "reload" })).ok && !begun()) return location.reload();
  } catch {
    // Still no network.
  }
  setTimeout(() => void look(Math.min(2 * pause, 15_000)), pause);
}

addEventListener("load", () => setTimeout(() => void look(1_000), 1_000));

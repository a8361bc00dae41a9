// How code that is loaded later comes: Vite's own way, replaced (vite.config.ts). A module that the
// browser could not load stays lost to the page, however often it is imported. So its files are
// fetched first, into the browser's cache; what fails is forgotten, and is asked for with the next try.
const loads = new Map();

function style(href) {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = href;
    link.onload = resolve;
    link.onerror = () => {
      link.remove();
      reject(new Error(`${href} did not come`));
    };
    document.head.append(link);
  });
}

async function code(href) {
  if (await globalThis.hazarddFetched?.get(href)) return; // src/first.ts
  const answer = await fetch(href);
  if (!answer.ok) throw new Error(`${href} answers ${answer.status}`);
  await answer.arrayBuffer();
}

function load(href) {
  let there = loads.get(href);
  if (!there) {
    there = href.endsWith(".css") ? style(href) : code(href);
    loads.set(href, there);
    there.catch(() => loads.delete(href));
  }
  return there;
}

/** The file that code imports: Vite does not list that of a part that needs no others. */
const own = (take) => /import\([`"']([^`"']+)/.exec(String(take))?.[1] ?? [];

/** @param {() => Promise<unknown>} take @param {readonly string[] | undefined} files @param {string} from */
export async function __vitePreload(take, files, from) {
  const all = new Set([...(files ?? [])].concat(own(take)).map((file) => new URL(file, from).href));
  await Promise.all(Array.from(all, load));
  return take();
}

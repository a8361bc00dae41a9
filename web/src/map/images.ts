// The pictures that the map draws with: the service's symbols, and what it draws itself. All are made when first needed, at the screen's
// density, and kept for as long as the page lives.
import { symbolAddress, severity, severityCode, type Severity } from "../model";
import { number, text } from "../words";
import { EDGES, paintPattern } from "./surface";

/** The edge of a hazard's symbol on the map, in CSS pixels. */
export const SYMBOL = 44;
/** Around the symbol, for the hatched ring of a drill. */
const MARGIN = 7;
/** Beneath it, for the word. */
const WORD = 15;

export interface Picture {
  readonly data: ImageData;
  readonly pixelRatio: number;
}

/** How much larger than usual the page is on a screen of many pixels, which nobody sits near (style.css). */
export const large = (): number => Number(getComputedStyle(document.documentElement).getPropertyValue("--large")) || 1;
/** Pixels of the screen in a pixel of the map. */
export const pixels = (): number => (window.devicePixelRatio || 1) * large();
const density = () => Math.min(Math.max(pixels(), 1), 3);

// One canvas for all: to make one, or to give it another size, costs more than to draw on it.
const LARGEST = 96; // of all pictures, in CSS pixels
let context: CanvasRenderingContext2D | undefined;

function canvas(edge: number): CanvasRenderingContext2D {
  const c = document.createElement("canvas");
  c.width = c.height = edge;
  // In memory: to read a canvas of the graphics card is to wait for all that the map draws.
  return c.getContext("2d", { willReadFrequently: true })!;
}

/** Draws on a canvas whose unit is the CSS pixel. */
function draw(width: number, height: number, paint: (c: CanvasRenderingContext2D) => void): Picture {
  const pixelRatio = density();
  context ??= canvas(LARGEST * 3);
  context.save();
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.clearRect(0, 0, width + 1, height + 1);
  paint(context);
  context.restore();
  return { data: context.getImageData(0, 0, Math.round(width * pixelRatio), Math.round(height * pixelRatio)), pixelRatio };
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

function tag(c: CanvasRenderingContext2D, words: string, x: number, y: number, fill: string, ink: string, size: number): void {
  c.font = `700 ${size}px ${FONT}`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  const width = c.measureText(words).width + size * 0.7;
  const height = size + 4;
  c.beginPath();
  c.roundRect(x - width / 2, y - height / 2, width, height, 3);
  c.fillStyle = fill;
  c.fill();
  c.lineWidth = 1;
  c.strokeStyle = ink === "#ffffff" ? "#ffffff" : "#10181f";
  c.stroke();
  c.fillStyle = ink;
  c.fillText(words, x, y + 0.5);
}

let striped: CanvasPattern | undefined;

/** Black and white stripes, as barriers have: no real hazard has them. */
function stripes(c: CanvasRenderingContext2D): CanvasPattern {
  if (striped) return striped;
  const n = Math.round(8 * density());
  const t = canvas(n);
  t.fillStyle = "#ffffff";
  t.fillRect(0, 0, n, n);
  t.fillStyle = "#000000";
  t.beginPath();
  for (const shift of [-n, 0, n]) {
    t.moveTo(shift, n);
    t.lineTo(shift + n / 2, n);
    t.lineTo(shift + (n * 3) / 2, 0);
    t.lineTo(shift + n, 0);
  }
  t.fill();
  striped = c.createPattern(t.canvas, "repeat")!;
  striped.setTransform(new DOMMatrix().scale(1 / density()));
  return striped;
}

/** The size of a symbol's picture: a drill's has room for its ring, and for its word below; the same room above keeps the symbol at its place. */
function size(drill: boolean): readonly [width: number, height: number] {
  const edge = SYMBOL + (drill ? 2 * MARGIN : 0);
  return [edge, edge + (drill ? 2 * WORD : 0)];
}

/** Nothing, in the size of the symbol that is being fetched. */
function blank(category: string): Picture {
  const pixelRatio = density();
  const [width, height] = size(category === "EXERCISE");
  return { data: new ImageData(Math.round(width * pixelRatio), Math.round(height * pixelRatio)), pixelRatio };
}

/** The service's picture, or, where there is none, a circle with the severity's letters. */
function symbol(category: string, s: Severity, picture: CanvasImageSource | undefined): Picture {
  const drill = category === "EXERCISE";
  const [edge, height] = size(drill);
  return draw(edge, height, (c) => {
    const middle = edge / 2;
    const top = drill ? WORD : 0;
    if (drill) {
      c.beginPath();
      c.arc(middle, top + middle, middle - 0.5, 0, 2 * Math.PI);
      c.fillStyle = stripes(c);
      c.fill();
      c.lineWidth = 1;
      c.strokeStyle = "#000000";
      c.stroke();
    }
    if (picture) c.drawImage(picture, middle - SYMBOL / 2, top + middle - SYMBOL / 2, SYMBOL, SYMBOL);
    else {
      c.beginPath();
      c.arc(middle, top + middle, SYMBOL / 2 - 4, 0, 2 * Math.PI);
      c.fillStyle = "#ffffff";
      c.fill();
      c.lineWidth = 4;
      c.strokeStyle = s.colour;
      c.stroke();
      c.beginPath();
      c.arc(middle, top + middle, SYMBOL / 2 - 1.5, 0, 2 * Math.PI);
      c.lineWidth = 1;
      c.strokeStyle = "#10181f";
      c.stroke();
      c.fillStyle = "#10181f";
      c.font = `700 9px ${FONT}`;
      c.textAlign = "center";
      c.textBaseline = "middle";
      c.fillText(severityCode(s), middle, top + middle + 0.5);
    }
    if (drill) tag(c, text.drill.word, middle, top + edge + WORD / 2 - 2, "#000000", "#ffffff", 9);
  });
}

/** How many more of its level a symbol stands for. */
function more(n: number): Picture {
  const words = `+${short(n)}`;
  const height = 20;
  const width = 14 + 8 * words.length;
  return draw(width, height, (c) => {
    c.beginPath();
    c.roundRect(1, 1, width - 2, height - 2, height / 2 - 1);
    c.fillStyle = "#10181f";
    c.fill();
    c.lineWidth = 1.5;
    c.strokeStyle = "#ffffff";
    c.stroke();
    c.fillStyle = "#ffffff";
    c.font = `700 12px ${FONT}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(words, width / 2, height / 2 + 0.5);
  });
}

const short = (n: number): string => number(n, n < 1000 ? {} : { notation: "compact", maximumFractionDigits: n < 10_000 ? 1 : 0 });

/** The ring around what has just come or become worse. */
function ring(): Picture {
  const edge = SYMBOL + 2 * MARGIN + 5;
  return draw(edge, edge, (c) => {
    c.beginPath();
    c.arc(edge / 2, edge / 2, edge / 2 - 2, 0, 2 * Math.PI);
    c.lineWidth = 2.5;
    c.strokeStyle = "#d946ef";
    c.stroke();
  });
}

/** Where no official warnings are read: thin lines that no area has. */
function gap(dark: boolean): Picture {
  const size = 12;
  return draw(size, size, (c) => {
    c.strokeStyle = dark ? "#6d7c8b" : "#8b8f94";
    c.globalAlpha = 0.55;
    c.lineWidth = 1;
    for (let x = -size; x <= 2 * size; x += size) {
      c.beginPath();
      c.moveTo(x, size);
      c.lineTo(x + size, 0);
      c.stroke();
    }
  });
}

/** The pattern in the fill of a level. */
function pattern(level: string, theme: "light" | "dark"): Picture {
  const edge = EDGES[level === "WATCH" ? "WATCH" : "ADVISORY"];
  return draw(edge, edge, (c) => {
    c.beginPath();
    c.rect(0, 0, edge, edge);
    c.clip();
    paintPattern(c, level, theme);
  });
}

async function picture(svg: Blob): Promise<HTMLImageElement> {
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  await image.decode();
  URL.revokeObjectURL(image.src);
  return image;
}

/** Makes pictures by the ids that the style uses, and tells when a better one has come. */
export class Images {
  readonly #symbols = new Map<string, HTMLImageElement | "none">();
  readonly #asked = new Map<string, Promise<void>>();

  static symbolId = (type: string, category: string, severityId: string): string => `symbol|${type}|${category}|${severityId}`;

  /** The picture of an id now; `better` is called when a better one is there: letters, should the symbol not come soon, and the symbol. Undefined: not one of ours. */
  make(id: string, better: (picture: Picture) => void): Picture | undefined {
    const [kind, a, b, c] = id.split("|");
    switch (kind) {
      case "more": // more|how many
        return more(Number(a));
      case "gap":
        return gap(a === "dark");
      case "ring":
        return ring();
      case "surface": // surface|level|theme
        return pattern(a ?? "", b === "dark" ? "dark" : "light");
      case "symbol": {
        const kept = this.#symbols.get(id);
        const s = severity(c ?? "");
        const now = (got: HTMLImageElement | "none" | undefined) => symbol(b ?? "", s, got === "none" ? undefined : got);
        if (kept) return now(kept);
        void this.#fetch(id, a ?? "", b ?? "", c ?? "", () => better(now(undefined))).then(() => better(now(this.#symbols.get(id))));
        return blank(b ?? "");
      }
      default:
        return undefined;
    }
  }

  /** Fetches a symbol, again and again until it comes; `failed` hears of each failure. */
  #fetch(id: string, type: string, category: string, severityId: string, failed: () => void): Promise<void> {
    let asked = this.#asked.get(id);
    if (!asked) {
      // The picture that the list shows too.
      const address = `${symbolAddress({ type_ID: type as never, category_ID: category as never, severity_ID: severityId as never })}.svg`;
      asked = (async () => {
        for (let pause = 1_000;; pause = Math.min(2 * pause, 15_000)) {
          try {
            const answer = await fetch(address);
            if (!answer.ok && answer.status !== 404) throw new Error(`${address} answers ${answer.status}`);
            this.#symbols.set(id, answer.ok ? await picture(await answer.blob()) : "none");
            return;
          } catch {
            failed();
            await new Promise((resolve) => setTimeout(resolve, pause));
          }
        }
      })();
      this.#asked.set(id, asked);
    }
    return asked;
  }
}

// The changes that wait for a second person: what the user may decide about, and what the user wrote
// and the result. Polled while an editor is logged in; nothing pushes drafts.
import { computed, signal } from "@preact/signals";
import { LoggedOutError, type Api, type Schemas } from "../api";
import type { Page } from "../ui/context";
import { text, words, wordsOf } from "../words";

export type Draft = Schemas["Draft"];

/** What the server lets wait: every WARNING, and what reaches so many people; 0: the number does not matter. */
export interface Rule {
  readonly warnings: boolean;
  readonly people: number;
}

/** How often the number of drafts is asked for, and the list while there are some, in milliseconds. */
const COUNT_EVERY = 5_000;
const LIST_EVERY = 15_000;
/** So long before its end a draft calls again. */
const SOON = 3_600_000;
/** So long what became of a draft is shown to its author, who has not seen it. */
const LATELY = 24 * 3_600_000;
const DISMISSED = "hazardd.drafts.dismissed";

export class Drafts {
  /** All that wait, the latest first. */
  readonly list = signal<readonly Draft[]>([]);
  /** Own drafts that were decided or lapsed in the last day or since the page was opened, until they are dismissed. */
  readonly decided = signal<readonly Draft[]>([]);
  readonly rule = signal<Rule>({ warnings: false, people: 0 });
  /** Why it is not known what waits; undefined: it is known. */
  readonly fault = signal<unknown>(undefined);
  /** The draft that is reviewed. */
  readonly open = signal<string | undefined>(undefined);
  readonly toDecide = computed(() => this.list.value.filter((d) => !this.own(d)));
  /** How much calls for the user: decisions, and outcomes that were not dismissed. */
  readonly calls = computed(() => this.toDecide.value.length + this.decided.value.length);
  readonly any = computed(() => this.list.value.length > 0 || this.decided.value.length > 0 || this.fault.value !== undefined);
  #counted = "";
  #before = false;
  #listed = 0;
  readonly #called = new Map<string, string>();

  /** `call` is called with what newly waits for the user, or is about to lapse; `ended` with own drafts that wait no more. */
  constructor(
    private readonly api: Pick<Api, "user" | "request" | "get" | "now">,
    private readonly call: (drafts: readonly Draft[]) => void = () => {},
    private readonly ended: (drafts: readonly Draft[]) => void = () => {},
  ) {}

  own = (d: Draft): boolean => d.author === this.api.user?.name;

  /** Whether the rule lets a change with this severity wait: surely, perhaps (if it reaches many), or not. */
  waits(severity: string): "yes" | "perhaps" | "no" {
    const { warnings, people } = this.rule.value;
    return warnings && severity === "WARNING" ? "yes" : people > 0 ? "perhaps" : "no";
  }

  /** Watches until the signal is aborted. */
  start(over: AbortSignal): void {
    const look = () => void this.look(over);
    look();
    const timer = setInterval(look, COUNT_EVERY);
    over.addEventListener("abort", () => clearInterval(timer));
  }

  /** Asks how much waits and, if that is something or has changed, what. */
  async look(signal?: AbortSignal): Promise<void> {
    try {
      const n = await this.api.get<"/drafts/count">("/drafts/count", { signal });
      const counted = `${n.to_decide} ${n.mine}`;
      const some = n.to_decide + n.mine > 0;
      if (counted !== this.#counted || (some && Date.now() - this.#listed >= LIST_EVERY)) {
        await this.read(signal);
        this.#counted = counted;
      }
      this.fault.value = undefined;
    } catch (error) {
      if (!signal?.aborted && !(error instanceof LoggedOutError)) this.fault.value = error;
    }
  }

  /** Reads what waits. */
  async read(signal?: AbortSignal): Promise<void> {
    const answer = await this.api.request("/drafts?limit=1000", { signal });
    this.rule.value = ruleOf(answer.headers.get("Hazardd-Approval") ?? "");
    const list = (await answer.json()) as readonly Draft[];
    this.#listed = Date.now();
    const gone = this.list.peek().filter((d) => this.own(d) && !list.some((x) => x.id === d.id));
    const ended = this.#before ? await Promise.all(gone.map((d) => this.api.get<"/drafts/{draft-id}">(`/drafts/${d.id}`, { signal }))) : await this.#lately(signal);
    this.#before = true;
    const news = ended.filter((d) => d.state !== "waiting" && d.decided_by !== this.api.user?.name);
    this.decided.value = [...news, ...this.decided.peek()];
    this.list.value = list;
    if (news.length > 0) this.ended(news);
    this.#tell(list);
  }

  /** Reads what became of own drafts in the last day, before the page was opened, without what was dismissed. */
  async #lately(signal?: AbortSignal): Promise<readonly Draft[]> {
    const list = (await (await this.api.request("/drafts?state=all&limit=100", { signal })).json()) as readonly Draft[];
    const since = this.api.now() - LATELY;
    const dismissed = readDismissed();
    return list.filter((d) => this.own(d) && Date.parse(d.decided ?? d.expires) > since && !dismissed.includes(d.id));
  }

  /** Calls for what is new to the user, was called to mind, or is about to lapse. */
  #tell(list: readonly Draft[]): void {
    const now = this.api.now();
    const news = list.filter((d) => {
      const state = `${d.reminded ?? ""} ${Date.parse(d.expires) - now < SOON}`;
      const before = this.#called.get(d.id);
      this.#called.set(d.id, state);
      return before !== state && (!this.own(d) || state.endsWith("true"));
    });
    if (news.length > 0) this.call(news);
  }

  dismiss(d: Draft): void {
    this.decided.value = this.decided.peek().filter((x) => x.id !== d.id);
    try {
      localStorage.setItem(DISMISSED, JSON.stringify([d.id, ...readDismissed()].slice(0, 100)));
    } catch {
      // It is shown once more when the page is opened again.
    }
  }
}

/** The outcomes that were dismissed on this device, the latest first. */
function readDismissed(): readonly string[] {
  try {
    return JSON.parse(localStorage.getItem(DISMISSED) ?? "[]") as string[];
  } catch {
    return [];
  }
}

/** What became of a draft, as a sentence. */
export function outcomeOf(d: Draft): string {
  if (d.state === "approved") return words.outcomeApproved({ who: apart(d.decided_by ?? "") });
  return d.state === "refused" ? words.outcomeRefused({ who: apart(d.decided_by ?? ""), reason: apart(d.reason ?? "") }) : words.outcomeLapsed;
}

/** Isolates a name from the direction of the words around it (UAX #9, FSI and PDI). */
export const apart = (name: string): string => `\u2068${name}\u2069`;

/** Watches what waits for the user of a page, until the signal is aborted. */
export function watch(page: Page, over: AbortSignal): void {
  const call = (news: readonly Draft[]) => page.attention.call(text.notice.waits({ n: news.length }), news.map((d) => d.hazard_Name));
  const say = ([first, ...more]: readonly Draft[]) => page.attention.call(first!.hazard_Name, [first!, ...more].map((d) => (more.length > 0 ? `${d.hazard_Name}: ${outcomeOf(d)}` : outcomeOf(d))));
  const ended = (list: readonly Draft[]) => void wordsOf("edit").then(() => say(list), () => page.attention.sound()); // the words may not have come yet
  const drafts = new Drafts(page.api, call, ended);
  page.editing.drafts.value = drafts;
  page.api.onDrafted = () => void drafts.read(over).catch(() => {}); // a later look reads it again
  over.addEventListener("abort", () => (page.editing.drafts.value = undefined));
  drafts.start(over);
}

/** Reads the header Hazardd-Approval: "warnings; people=1000000". */
export function ruleOf(header: string): Rule {
  const parts = header.split(";").map((p) => p.trim());
  const people = parts.find((p) => p.startsWith("people="));
  return { warnings: parts.includes("warnings"), people: people ? Number(people.slice(7)) : 0 };
}

/** A field of a hazard that a draft changes, as it is now and as it would be. */
export interface Difference {
  readonly field: string;
  readonly before: unknown;
  readonly now: unknown;
}

/** What a draft changes against what the hazard says now; undefined: the hazard is new. */
export function differences(d: Draft): readonly Difference[] | undefined {
  const { says, said } = d.details ?? {};
  if (!says || !said) return undefined;
  const names = { start: "start_Date", end: "end_Date" } as Record<string, string>;
  const plain = (v: unknown, field: string) => (field === "autoexpire" ? (v ? "Y" : "N") : field === "start" || field === "end" ? (v ? String(Date.parse(String(v))) : "") : (v ?? ""));
  const fields = Object.keys({ ...said, ...says }) as (keyof typeof says)[];
  return fields.filter((f) => f !== "texts" && JSON.stringify(says[f]) !== JSON.stringify(said[f]))
    .map((f) => ({ field: names[f] ?? f, before: plain(said[f], f), now: plain(says[f], f) }));
}

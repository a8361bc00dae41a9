// Notifies readers who are not looking at the page: a count in the tab's title and on its icon and,
// optionally, a sound and browser notifications.
import { computed, effect, signal } from "@preact/signals";
import { again } from "./again";
import { isWarning } from "./diff";
import { isDrill, severity, severityName } from "./model";
import type { Notice, Store } from "./store";
import { text } from "./words";

/** The reader's choices on this device. Nothing is stored before the first choice. */
export interface Choices {
  readonly sound: boolean;
  readonly notify: boolean;
  /** Store the last view on this device; see offline.ts. */
  readonly offline: boolean;
}

/** What shows a count and sounds; it is asked for until it comes. */
let loading: Promise<typeof import("./alarm") | undefined> | undefined;
const alarm = () => (loading ??= again(() => import("./alarm"), () => {}, new AbortController().signal));

const none: Choices = { sound: false, notify: false, offline: false };
const KEY = "hazardd.attention";

export class Attention {
  readonly choices = signal<Choices>(read());
  /** Others than warnings that came while nobody looked. */
  readonly #missed = signal(0);
  /** What has come and nobody has seen: warnings until they are acknowledged, others until somebody looks. */
  readonly unseen = computed(() => this.store.warned.value.length + this.#missed.value + this.waiting());

  constructor(
    private readonly store: Store,
    private readonly open: (notice: Notice) => void,
    /** How many changes wait for the reader's decision, and how many outcomes of own ones nobody has dismissed. */
    private readonly waiting: () => number = () => 0,
  ) {}

  choose(change: Partial<Choices>): void {
    const choices = (this.choices.value = { ...this.choices.peek(), ...change });
    try {
      if (Object.values(choices).some(Boolean)) localStorage.setItem(KEY, JSON.stringify(choices));
      else localStorage.removeItem(KEY);
    } catch {
      // It holds until the page is closed.
    }
    if (change.sound) this.sound(); // so that the reader knows it; and a browser lets a page sound after a click alone
  }

  /** Begins to watch, until the end that it returns is called. */
  start(): () => void {
    const look = () => {
      if (document.visibilityState === "visible") this.#missed.value = 0;
    };
    document.addEventListener("visibilitychange", look);
    const ends = [
      effect(() => this.#tell(this.store.told.value)),
      effect(() => icon(this.unseen.value)),
    ];
    return () => {
      document.removeEventListener("visibilitychange", look);
      for (const end of ends) end();
      icon(0);
    };
  }

  #tell(told: readonly Notice[]): void {
    if (told.length === 0) return;
    if (document.visibilityState === "hidden") this.#missed.value = this.#missed.peek() + told.filter((n) => !isWarning(n)).length;
    const warnings = told.filter(isWarning);
    if (warnings.length === 0) return;
    const { sound, notify } = this.choices.peek();
    if (sound) this.sound();
    if (notify) void this.#notify(warnings);
  }

  /** Calls an editor to changes that wait, or waited, for a second person: always with a sound, and by a notification if that is chosen. */
  call(title: string, lines: readonly string[]): void {
    this.sound();
    if (this.choices.peek().notify) void this.#show(title, { tag: "hazardd-drafts", body: lines.slice(0, 5).join("\n") }, () => {});
  }

  /** Two tones, as short as they can be and be noticed. */
  sound(): void {
    void alarm().then((a) => a?.sound());
  }

  async #notify(warnings: readonly Notice[]): Promise<void> {
    const [first] = warnings as readonly [Notice, ...Notice[]];
    const title = warnings.length === 1
      ? text.notice.spoken({ kind: first.kind, severity: severityName(severity(first.hazard.severity_ID)), name: first.hazard.hazard_Name, drill: isDrill(first.hazard) ? "yes" : "no" })
      : text.notice.many({ n: warnings.length, warnings: warnings.length });
    const options = { tag: warnings.length === 1 ? first.hazard.uuid : "hazardd", body: warnings.length === 1 ? "" : warnings.slice(0, 5).map((n) => n.hazard.hazard_Name).join("\n") };
    await this.#show(title, options, () => this.open(first));
  }

  async #show(title: string, more: { tag: string; body: string }, open: () => void): Promise<void> {
    if (!("Notification" in globalThis) || Notification.permission !== "granted") return;
    const options = { ...more, icon: "assets/app-192.png" };
    try {
      const shown = new Notification(title, options);
      shown.onclick = () => {
        window.focus();
        open();
        shown.close();
      };
    } catch {
      // Phones only show notifications of a service worker.
      await (await navigator.serviceWorker?.getRegistration())?.showNotification(title, options);
    }
  }
}

const icon = (count: number): void => void ((count > 0 || loading) && alarm().then((a) => a?.icon(count, severity("WARNING").colour)));

function read(): Choices {
  try {
    return { ...none, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Choices>) };
  } catch {
    return none;
  }
}

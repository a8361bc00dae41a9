// Notifies readers who are not looking at the page: a count in the tab's title and on its icon and,
// optionally, a sound and browser notifications.
import { computed, effect, signal } from "@preact/signals";
import { isDrill, severity, severityName } from "./model";
import { isWarning, type Notice, type Store } from "./store";
import { text } from "./words";

/** The reader's choices on this device. Nothing is stored before the first choice. */
export interface Choices {
  readonly sound: boolean;
  readonly notify: boolean;
  /** Store the last view on this device; see offline.ts. */
  readonly offline: boolean;
}

const none: Choices = { sound: false, notify: false, offline: false };
const KEY = "hazardd.attention";

export class Attention {
  readonly choices = signal<Choices>(read());
  /** Others than warnings that came while nobody looked. */
  readonly #missed = signal(0);
  /** What has come and nobody has seen: warnings until they are acknowledged, others until somebody looks. */
  readonly unseen = computed(() => this.store.warned.value.length + this.#missed.value + this.waiting());
  #audio: AudioContext | undefined;

  constructor(
    private readonly store: Store,
    private readonly open: (notice: Notice) => void,
    /** How many changes wait for the reader's decision. */
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

  /** Calls an editor to changes that wait for a second person: always with a sound, and by a notification if that is chosen. */
  call(names: readonly string[]): void {
    this.sound();
    if (this.choices.peek().notify) void this.#show(text.notice.waits({ n: names.length }), { tag: "hazardd-drafts", body: names.slice(0, 5).join("\n") }, () => {});
  }

  /** Two tones, as short as they can be and be noticed. */
  sound(): void {
    try {
      const audio = (this.#audio ??= new AudioContext());
      void audio.resume();
      for (const [i, hertz] of [880, 660].entries()) {
        const [tone, level, at] = [audio.createOscillator(), audio.createGain(), audio.currentTime + i * 0.22];
        tone.frequency.value = hertz;
        level.gain.setValueAtTime(0.0001, at);
        level.gain.exponentialRampToValueAtTime(0.3, at + 0.02);
        level.gain.exponentialRampToValueAtTime(0.0001, at + 0.2);
        tone.connect(level).connect(audio.destination);
        tone.start(at);
        tone.stop(at + 0.21);
      }
    } catch {
      // A machine without sound.
    }
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

function read(): Choices {
  try {
    return { ...none, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Choices>) };
  } catch {
    return none;
  }
}

let plain: string | undefined;

/**
 * Shows a count on the icon of the tab, and on the app's icon if the page is installed; 0 removes
 * it.
 */
function icon(count: number): void {
  const app = navigator as Navigator & { setAppBadge?: (n: number) => Promise<void>; clearAppBadge?: () => Promise<void> };
  void (count > 0 ? app.setAppBadge?.(count) : app.clearAppBadge?.())?.catch(() => {});
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (!link) return;
  plain ??= link.href;
  if (count === 0) {
    if (link.href !== plain) link.href = plain;
    return;
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const c = canvas.getContext("2d");
  if (!c) return;
  const disc = (radius: number, colour: string) => {
    c.beginPath();
    c.arc(32, 32, radius, 0, 2 * Math.PI);
    c.fillStyle = colour;
    c.fill();
  };
  disc(31, severity("WARNING").colour);
  disc(26, "#0f1720");
  c.fillStyle = "#ffffff";
  c.font = `700 ${count > 9 ? 30 : 40}px system-ui, sans-serif`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(count > 99 ? "99+" : String(count), 32, 34, 46);
  link.href = canvas.toDataURL("image/png");
}

// Keeps the page's hazards in sync with the server.
//
// It reads the whole list, then follows the stream of events from the list's change number. If the
// stream cannot resume ("reset"), it reads the whole list again. Without a stream it polls the
// list, which is cheap for the server (304). While the stream is open, a HEAD request every few
// seconds checks that the server responds and how fresh its sources are. Failures are shown at once
// and retried until they end, with delays that grow to some seconds and differ between pages.
import { LoggedOutError, LostError, Problem, type Api, type Options } from "./api";
import { EventParser } from "./events";
import { freshness, type Freshness } from "./freshness";
import type { Change, Hazard } from "./model";

export interface Sink {
  /** The whole list, as of a change. */
  all(list: readonly Hazard[], fresh: Freshness): void;
  /** The server has another history: what it has said until now counts no more. */
  reset(): void;
  /** One change of the stream. */
  change(change: Change): void;
  /** The server is there. */
  heard(fresh?: Freshness): void;
  /** The server is not there, or answers with errors. */
  lost(why: string): void;
}

/** Where the list of hazards is, and how it is read. */
export interface Feed {
  readonly path: string;
  /** The header of the answer, and the hazards; undefined: nothing has changed. `always` wants them in any case. */
  read(options: Options, always: boolean): Promise<readonly [Headers, (readonly Hazard[])?]>;
}

export const WHOLE = "/hazards/active";

/** Whole records. */
export function whole(api: Api): Feed {
  let tag: string | undefined;
  return {
    path: WHOLE,
    async read(options, always) {
      const answer = await api.request(WHOLE, { ...options, headers: tag && !always ? { "If-None-Match": tag } : {}, allow: [304] });
      if (answer.status === 304) return [answer.headers];
      const list = (await answer.json()) as readonly Hazard[];
      tag = answer.headers.get("ETag") ?? undefined;
      return [answer.headers, list];
    },
  };
}

/** What differs between a browser and a test. */
export interface Surroundings {
  /** Waits; ends early when it may be worth trying again. */
  readonly pause: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly hidden: () => boolean;
  readonly random: () => number;
}

// Milliseconds.
const POLL = 800; // a change appears within a second
const POLL_HIDDEN = 5_000; // the page is hidden, or a shared cache answers with data as old as this
const BEAT = 5_000;
const ANSWER = 4_000; // later than this the connection counts as lost
const RELOAD = 300_000; // the whole list again, should an event have been missed
const CROWDED = 60_000; // without a word of the server: how long the page polls when all streams are taken; how long it asks nothing beside its stream
const SILENT = 20_000; // the server says something on each stream every 15 seconds
/** What a server answers that has no room for a crowd. */
const FULL = [429, 503];
// An outage ends for all pages at once: they must not come back at once.
/** After so many failures in a row, one after the other. */
const PAUSES = [500, 1_000, 2_000, 4_000, 8_000];
/** What is left of a pause, or added to it, by chance. */
const JITTER = 0.5;

/** How long to wait after so many failures before this one, milliseconds; `random` is from 0 to 1. */
export function pauseAfter(failures: number, random: number, pause = PAUSES[Math.min(failures, PAUSES.length - 1)]!): number {
  return pause * (1 - JITTER + 2 * JITTER * random);
}

export async function follow(api: Api, sink: Sink, signal: AbortSignal, around: Surroundings, feed = whole(api)): Promise<void> {
  let after: number | undefined; // the change that we are as of
  let streams = true;
  let polls = 0; // until the stream is asked for again
  let failures = 0;
  let heard = 0; // when the stream last said something
  const isPublic = () => api.open && !api.user;

  async function list(): Promise<void> {
    const [headers, hazards] = await feed.read({ signal, timeout: ANSWER }, after === undefined);
    const fresh = freshness(headers);
    if (!hazards) return sink.heard(fresh);
    if (after !== undefined && fresh.change !== undefined && fresh.change < after) {
      // The stream was faster, or a cache, or another node, is behind. Or the store was set back: a stream would say so.
      if (streams || !(await isVoid(after))) return sink.heard(fresh);
      sink.reset();
      after = undefined;
    }
    after = fresh.change ?? after;
    sink.all(hazards, fresh);
  }

  /** Whether the server's history has no change of that number. */
  async function isVoid(change: number): Promise<boolean> {
    return (await api.request(`/changes?after=${change}&limit=1`, { allow: [403, 404, 405, 410, 429, 503], signal, timeout: ANSWER })).status === 410;
  }

  /** Follows the stream until it ends; false: there is none, or no place in it. */
  async function stream(): Promise<boolean> {
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const answer = await api.request("/events", {
      headers: { Accept: "text/event-stream", ...(after === undefined ? {} : { "Last-Event-ID": String(after) }) },
      allow: [404, 405, 406, ...(isPublic() ? FULL : [])], // a crowd may take all places
      signal: both,
    });
    if (!answer.ok || !answer.body) {
      polls = FULL.includes(answer.status) ? Math.ceil((Number(answer.headers.get("Retry-After")) * 1000 || CROWDED) / POLL_HIDDEN) : Infinity;
      return false;
    }
    failures = 0;
    heard = Date.now();
    sink.heard();
    let failed: unknown;
    const watch = beats(both).catch((error: unknown) => {
      failed = error;
      over.abort();
    });
    try {
      const parser = new EventParser();
      const reader = answer.body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return true; // the token ended, or the server did: ask again
        heard = Date.now();
        sink.heard();
        for (const event of parser.push(value)) {
          if (event.event === "reset") {
            after = undefined;
            sink.reset();
            return true;
          }
          const change = JSON.parse(event.data) as Change;
          if (after !== undefined && change.change <= after) continue;
          after = change.change;
          sink.change(change);
        }
      }
    } catch (error) {
      if (signal.aborted) throw error;
      throw failed ?? new LostError("the stream is lost");
    } finally {
      over.abort();
      await watch;
    }
  }

  async function beats(until: AbortSignal): Promise<void> {
    let left = 0; // beats that are left out
    let refused = 0;
    for (let n = 1; !until.aborted;) {
      await around.pause(BEAT, until);
      if (until.aborted) return;
      if (left-- > 0) {
        // Nothing but the stream itself says that it is open.
        if (Date.now() - heard > SILENT) throw new LostError("the stream is lost");
        continue;
      }
      try {
        if (n++ % (RELOAD / BEAT) === 0) await list();
        else sink.heard(freshness((await api.request(feed.path, { method: "HEAD", signal: until, timeout: ANSWER })).headers));
        refused = 0;
      } catch (error) {
        // The server refuses one reader, or a crowd. Its stream goes on: opening it again would cost more than what was refused.
        if (!isPublic() || !FULL.includes((error as Problem).status)) throw error;
        left = Math.min(2 ** refused++, CROWDED / BEAT) * (0.5 + around.random());
      }
    }
  }

  while (!signal.aborted) {
    try {
      await list();
      streams ||= polls-- <= 0;
      if (streams) {
        streams = await stream();
        // A server that ends its streams ends all of them.
        if (streams && !signal.aborted) await around.pause(PAUSES[0]! * around.random(), signal);
      } else await around.pause(around.hidden() || isPublic() ? POLL_HIDDEN : POLL, signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted || error instanceof LoggedOutError) return;
      if (!(error instanceof LostError || error instanceof Problem)) console.error(error);
      sink.lost(error instanceof Error ? error.message : String(error));
      await around.pause(pauseAfter(failures++, around.random(), error instanceof Problem && error.retryAfter ? error.retryAfter * 1000 : undefined), signal);
    }
  }
}

/** Of a browser: a pause ends early when the network is back, or somebody looks again. */
export const browser: Surroundings = {
  pause: (milliseconds, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        window.removeEventListener("online", end);
        document.removeEventListener("visibilitychange", look);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const look = () => document.visibilityState === "visible" && end();
      const timer = setTimeout(end, milliseconds);
      window.addEventListener("online", end);
      document.addEventListener("visibilitychange", look);
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
    }),
  hidden: () => document.visibilityState === "hidden",
  random: Math.random,
};

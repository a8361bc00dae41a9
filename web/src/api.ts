// Requests to the service, and the login for them.
//
// Tokens are only in this module's memory: a reload is a logout. They are renewed before they
// expire. On the answer "Invalid Token" they are renewed once and the request is repeated. All
// errors are a Problem (the service answered) or a LostError (it did not).

import { accepted } from "./language";
import type { components, paths } from "./openapi.types";

/** What the service speaks of, as internal/serve/openapi/openapi.yaml describes it. */
export type Schemas = components["schemas"];

type Content<R> = R extends { content: { "application/json": infer T } } ? T : never;
/** The JSON that GET of a path of the document answers with. */
export type Answer<P extends keyof paths> = paths[P]["get"] extends { responses: { 200: infer R } } ? Content<R> : never;

/** The service answered with an error (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    /** What is wrong, in words fit to show. */
    readonly detail: string,
    /** The errors in the input: a JSON pointer or the name of a parameter, and what is wrong. */
    readonly faults: readonly { readonly pointer?: string; readonly parameter?: string; readonly detail: string }[] = [],
    /** Seconds to wait before the next attempt, if the service says so. */
    readonly retryAfter?: number,
    /** The kinds of second factor, one of which the login needs, too: totp, passkey; empty if none. */
    readonly factor = "",
  ) {
    super(detail);
    this.name = "Problem";
  }
}

/** The service did not answer. */
export class LostError extends Error {
  override name = "LostError";
}

/** Nothing has changed yet: the request waits for a second person. */
export class DraftedError extends Error {
  override name = "DraftedError";
  constructor(readonly draft: Schemas["Draft"]) {
    super("it waits for a second person");
  }
}

/** Nobody is logged in, or the login has ended. */
export class LoggedOutError extends Error {
  override name = "LoggedOutError";
}

export interface User {
  readonly name: string;
  readonly role: Schemas["Account"]["role"];
  readonly orgs: readonly number[];
}

interface Login {
  access: string;
  refresh: string;
  user: User;
  /** When to renew, by this machine's clock, in milliseconds. */
  renewAt: number;
}

export interface Options {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a form or a file is sent as it is. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the response headers must arrive; 0 means no limit. */
  readonly timeout?: number;
  /** Of the browser's cache: what it holds, however old, before the server is asked. */
  readonly cache?: "force-cache";
  /** Statuses beside 2xx that are no error. */
  readonly allow?: readonly number[];
}

const TIMEOUT = 10_000;
/** A token is renewed when a fifth of its life is left. */
const RENEW = 0.8;

type Fetch = typeof fetch;

/** A login elsewhere that the server takes. */
export interface Provider {
  readonly title: string;
  readonly url: string;
}

export class Api {
  readonly #asOf = new WeakMap<object, { readonly change: number; readonly history: number }>();
  #history = 0;
  #login: Login | undefined;
  #renewing: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Called when the login has ended by itself: its tokens are no longer accepted. */
  onEnded: () => void = () => {};
  /** Called when nothing works before the user has a second factor. */
  onNeedsFactor: () => void = () => {};
  /** Called when a write waits for a second person. */
  onDrafted: () => void = () => {};
  /** What is read needs no login: the server is public, or a key is in the address. */
  open = false;
  /**
   * The preferred language for texts of hazards, before those of the browser, as a BCP 47 tag;
   * undefined means none.
   */
  wish: string | undefined;
  /** Milliseconds that the server's clock is ahead of ours. */
  skew = 0;

  constructor(
    readonly base = "",
    private readonly fetch: Fetch = (...args) => globalThis.fetch(...args),
  ) {}

  get user(): User | undefined {
    return this.#login?.user;
  }

  /** The server's time, in milliseconds since 1970. */
  now(): number {
    return Date.now() + this.skew;
  }

  /** Exchanges credentials for tokens. A Problem of status 401 says that they were not accepted. */
  async login(username: string, password: string, otp?: string): Promise<User> {
    const answer = await this.#send("/authorize", { method: "POST", body: otp ? { username, password, otp } : { username, password } });
    return this.#loggedIn(answer);
  }

  async #loggedIn(answer: Response): Promise<User> {
    await this.#fail(answer);
    this.#keep(await answer.json());
    void this.#session("POST");
    return this.#login!.user;
  }

  /** The ways to log in besides a password. */
  async methods(): Promise<{ readonly provider?: Provider; readonly passkeys: boolean }> {
    const answer = await this.#send("/login/methods", { method: "GET" });
    if (!answer.ok) return { passkeys: false };
    const { provider, passkeys } = await answer.json();
    return { passkeys: passkeys === true, ...(provider && { provider }) };
  }

  /** The options for an answer of a passkey. */
  async passkeyOptions(): Promise<Schemas["PasskeyOptions"]["publicKey"]> {
    const answer = await this.#send("/login/passkey/options", { method: "POST" });
    await this.#fail(answer);
    return (await answer.json()).publicKey;
  }

  /** Logs in by the answer of a passkey. */
  async loginByPasskey(credential: string): Promise<User> {
    return this.#loggedIn(await this.#send("/login/passkey", { method: "POST", body: { credential: JSON.parse(credential) as unknown } }));
  }

  /** Fetches the tokens of a login at the provider from which the browser has just come back; undefined: there was none. */
  async loginFromProvider(): Promise<User | undefined> {
    const answer = await this.#send("/login/tokens", { method: "POST" });
    return answer.status === 401 ? undefined : this.#loggedIn(answer);
  }

  /** Ends the login here and on the server. What the server answers does not matter: the tokens are forgotten first. */
  async logout(): Promise<void> {
    const login = this.#login;
    this.#forget();
    if (!login) return;
    const end = { method: "POST", body: { refreshToken: login.refresh } };
    await Promise.allSettled([
      this.#send("/session", { method: "DELETE", headers: { Authorization: `Bearer ${login.access}` } }),
      this.#send("/authorize/revoke", end),
    ]);
  }

  /**
   * Changes the password. That ends all sessions of the user; only the tokens in the response are
   * valid afterwards. A Problem with status 401 says that the old password is wrong, or, with
   * `factor`, that otp is: a code, or the answer of a passkey.
   */
  async changePassword(old: string, fresh: string, otp: string): Promise<void> {
    await this.#renew(); // so that the token is good for as long as the change takes
    const change = this.#exchange({ old, new: fresh, ...(otp && { otp }) });
    // Other requests would find their tokens revoked before the response arrives, so they wait for
    // it.
    this.#renewing = change.catch(() => {}).finally(() => (this.#renewing = undefined));
    return change;
  }

  async #exchange(body: Schemas["PasswordChange"]): Promise<void> {
    const login = this.#login;
    if (!login) throw new LoggedOutError();
    const answer = await this.#send("/account/password", { method: "POST", body, headers: { Authorization: `Bearer ${login.access}` } });
    if (answer.status === 403 && isInvalidToken(answer)) {
      this.#end();
      throw new LoggedOutError();
    }
    await this.#fail(answer);
    if (this.#login !== login) return; // logged out meanwhile
    this.#keep(await answer.json());
    void this.#session("POST");
  }

  /**
   * Sends a request with the token. Throws a Problem for an error response, unless its status is
   * allowed.
   */
  async request(path: string, options: Options = {}): Promise<Response> {
    for (let again = false;; again = true) {
      const sent = this.#login?.access;
      if (!sent && !this.open) throw new LoggedOutError();
      const answer = await this.#send(path, sent ? { ...options, headers: { ...options.headers, Authorization: `Bearer ${sent}` } } : options);
      if (sent && answer.status === 403 && !again && isInvalidToken(answer)) {
        if (this.#login?.access === sent) await this.#renew();
        continue;
      }
      if (sent && answer.status === 403 && isInvalidToken(answer)) {
        this.#end();
        throw new LoggedOutError();
      }
      await this.#fail(answer, options.allow);
      return answer;
    }
  }

  /**
   * GET of JSON. The type parameter is the path in the OpenAPI document:
   * `get<"/hazards/{hazard-id}">("/hazards/5")`.
   */
  async get<P extends keyof paths>(path: string, options: Options = {}): Promise<Answer<P>> {
    return this.#read(() => this.request(path, options));
  }

  /**
   * The change as of which an answer of `get` or `write` is true, as Hazardd-Change says; -1: of a
   * history that is void now; undefined: the server does not say.
   */
  asOf(answer: object): number | undefined {
    const at = this.#asOf.get(answer);
    return at && (at.history === this.#history ? at.change : -1);
  }

  /** The server's history was replaced: the answers to what was asked until now count no more. */
  beginAnew(): void {
    this.#history++;
  }

  async #read<T>(ask: () => Promise<Response>): Promise<T> {
    const history = this.#history;
    const answer = await ask();
    const json = (await answer.json()) as T;
    const change = answer.headers.get("Hazardd-Change");
    if (change && json && typeof json === "object") this.#asOf.set(json, { change: Number(change), history });
    return json;
  }

  /** GET of GeoJSON, in the form that its path gives. */
  async geo<T extends { readonly type: string }>(path: string, signal?: AbortSignal): Promise<T> {
    return (await this.request(path, { headers: { Accept: "application/geo+json" }, signal })).json() as Promise<T>;
  }

  /**
   * POST, PATCH or DELETE. Returns the JSON of the response, or undefined if it is empty. For a
   * conditional write, ifMatch is the ETag that was read.
   */
  async write<T>(method: "POST" | "PATCH" | "DELETE", path: string, body?: unknown, ifMatch?: string): Promise<T | undefined> {
    const headers: Record<string, string> = ifMatch ? { "If-Match": ifMatch } : {};
    let empty = false;
    const json = await this.#read<T>(async () => {
      const answer = await this.request(path, { method, body, headers });
      if (answer.status === 202) {
        const draft = (await answer.json()) as Schemas["Draft"];
        this.onDrafted();
        throw new DraftedError(draft);
      }
      empty = !answer.headers.get("Content-Type")?.includes("json");
      return empty ? new Response("null") : answer;
    });
    return empty ? undefined : json;
  }

  /** The content of a file product, and its name. */
  async file(productId: number): Promise<Blob> {
    return (await this.request(`/products/${productId}/file`, { timeout: 0 })).blob();
  }

  /**
   * POSTs a form with a file. `sent` is called with the progress from 0 to 1, which fetch cannot
   * report. Throws as request does.
   */
  async upload<T>(path: string, form: FormData, sent: (share: number) => void, signal: AbortSignal): Promise<T> {
    for (let again = false;; again = true) {
      if (!this.#login) throw new LoggedOutError();
      const access = this.#login.access;
      const { post } = await import("./upload");
      const answer = await post(this.base + path, access, form, sent, signal);
      if (answer.status === 403 && isInvalidToken(answer)) {
        if (again) {
          this.#end();
          throw new LoggedOutError();
        }
        if (this.#login?.access === access) await this.#renew();
        continue;
      }
      await this.#fail(answer);
      return answer.json() as Promise<T>;
    }
  }

  async #send(path: string, o: Options): Promise<Response> {
    const headers: Record<string, string> = { ...(this.wish ? { "Accept-Language": accepted(this.wish) } : {}), ...o.headers };
    let body: BodyInit | undefined;
    if (o.body instanceof FormData || o.body instanceof Blob) body = o.body;
    else if (o.body !== undefined) {
      body = JSON.stringify(o.body);
      headers["Content-Type"] ??= "application/json";
    }
    const limit = new AbortController();
    const timer = o.timeout === 0 ? undefined : setTimeout(() => limit.abort(), o.timeout ?? TIMEOUT);
    const signal = o.signal ? AbortSignal.any([o.signal, limit.signal]) : limit.signal;
    try {
      // With a login what is read may be restricted, and stays out of the browser's cache. Without one
      // the browser keeps it, and asks with its tag after a reload; a request with a tag of its own is
      // not kept.
      const asked = Date.now();
      const answer = await this.fetch(this.base + path, {
        method: o.method ?? "GET",
        headers,
        signal,
        cache: this.#login || !this.open ? "no-store" : (o.cache ?? "default"),
        credentials: "same-origin",
        ...(body === undefined ? {} : { body }),
      });
      if (!o.cache) this.#clock(answer, asked);
      return answer;
    } catch (error) {
      if (o.signal?.aborted) throw error;
      throw new LostError("the server does not answer");
    } finally {
      clearTimeout(timer);
    }
  }

  /** Learns the server's clock of an answer. The Date header has whole seconds: less than two of difference is none. */
  #clock(answer: Response, asked: number): void {
    const date = Date.parse(answer.headers.get("Date") ?? "");
    if (Number.isNaN(date)) return;
    const ahead = date + 500 - (asked + Date.now()) / 2;
    this.skew = Math.abs(ahead) < 2_000 ? 0 : ahead;
  }

  async #fail(answer: Response, allow: readonly number[] = []): Promise<void> {
    if (answer.ok || allow.includes(answer.status)) return;
    const wait = Number(answer.headers.get("Retry-After")) || undefined;
    const text = await answer.text().catch(() => "");
    if (answer.headers.get("Content-Type")?.includes("json")) {
      try {
        const p = JSON.parse(text) as { detail?: string; title?: string; errors?: Problem["faults"] };
        if (answer.status === 403 && p.detail?.includes("/account/factors")) this.onNeedsFactor();
        throw new Problem(answer.status, p.detail ?? p.title ?? "", p.errors, wait);
      } catch (error) {
        if (error instanceof Problem) throw error;
      }
    }
    throw new Problem(
      answer.status,
      text.length > 0 && text.length < 200 && !text.startsWith("<") ? text.trim() : `status ${answer.status}`,
      [],
      wait,
      answer.headers.get("Hazardd-Second-Factor") ?? "",
    );
  }

  #keep(pair: Schemas["TokenPair"]): void {
    const claims = decodeClaims(pair.accessToken);
    const life = (claims.exp - claims.iat) * 1000;
    this.#login = {
      access: pair.accessToken,
      refresh: pair.refreshToken,
      user: { name: claims.sub, role: claims.role, orgs: claims.orgs ?? [] },
      renewAt: Date.now() + life * RENEW,
    };
    this.#arm(life * RENEW);
  }

  #arm(wait: number): void {
    clearTimeout(this.#timer);
    // Longer timers than 24 days fire at once.
    this.#timer = setTimeout(() => void this.#renew().catch(() => {}), Math.min(Math.max(wait, 1_000), 2 ** 31 - 1));
  }

  /** Renews the tokens, once for all simultaneous callers. */
  #renew(): Promise<void> {
    this.#renewing ??= this.#renewNow().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #renewNow(): Promise<void> {
    const login = this.#login;
    if (!login) throw new LoggedOutError();
    let answer: Response;
    try {
      answer = await this.#send("/authorize/refresh", { method: "POST", body: { refreshToken: login.refresh } });
    } catch (error) {
      this.#arm(3_000); // a lost answer may be asked for again within ten seconds
      throw error;
    }
    if (this.#login !== login) return; // logged out meanwhile
    if (answer.status === 401) {
      this.#end();
      throw new LoggedOutError();
    }
    if (!answer.ok) {
      this.#arm(3_000);
      await this.#fail(answer);
    }
    this.#keep(await answer.json());
    void this.#session("POST");
  }

  /** The cookie by which pages know the login; a server without such pages has no such path. */
  async #session(method: "POST" | "DELETE"): Promise<void> {
    try {
      await this.request("/session", { method, allow: [404, 405] });
    } catch {
      // Pages ask for a login then; the map does without them.
    }
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#login = undefined;
  }

  #end(): void {
    if (!this.#login) return;
    this.#forget();
    this.onEnded();
  }
}

const isInvalidToken = (answer: Response): boolean => !answer.headers.get("Content-Type")?.includes("json");

interface Claims {
  sub: string;
  iat: number;
  exp: number;
  role: User["role"];
  orgs?: number[];
}

/** Decodes a token's claims: the user and the expiry. Only the server verifies them. */
export function decodeClaims(token: string): Claims {
  const part = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(part), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Claims;
}

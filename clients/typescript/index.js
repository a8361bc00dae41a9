// A client of hazardd, a hazard data service, for browsers and Node.js 20 and later. It depends on nothing. Its types are in index.d.ts.

const MAX_EVENT = 32 * 2 ** 20; // characters of an event
const QUIET = 45_000; // ms in which nothing may come from a stream: three of the server's comments
const FIRST_WAIT = 1_000, LONGEST_WAIT = 30_000; // ms until a stream is opened again

const KINDS = {
  400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not found", 409: "conflict", 410: "reset", 412: "stale", 413: "too large",
  422: "invalid", 429: "limited", 502: "unavailable", 503: "unavailable", 504: "unavailable",
};

export class HazarddError extends Error {
  constructor(kind, detail, { status = 0, title = "", errors = [], retryAfter = 0 } = {}) {
    super([status ? `${status} ${title}`.trim() : kind, detail].filter(Boolean).join(": "));
    this.name = "HazarddError";
    Object.assign(this, { kind, status, title, detail, errors, retryAfter });
  }
}

export class Client {
  #base;
  #prefix;
  #username;
  #password;
  #token;
  #refresh;
  #renewAt = Infinity; // by performance.now
  #expiresAt = Infinity;
  #renewing; // the promise of the renewal that is under way
  #timeout;
  #patience;
  #fetch;
  #pageSize;

  constructor(url, { username = "", password = "", token = "", refreshToken = "", readKey = "", timeout = 60_000, patience = 30_000, pageSize = 100, fetch } = {}) {
    let base;
    try {
      base = new URL(url);
    } catch {
      throw new HazarddError("invalid", "the address cannot be read");
    }
    if (!/^https?:$/.test(base.protocol) || base.search || base.hash || base.username || base.password) {
      throw new HazarddError("invalid", "expected an address that begins with http:// or https://, without user, query or fragment");
    }
    if (!username !== !password) throw new HazarddError("invalid", "username and password go together");
    this.#base = base.href.replace(/\/+$/, "");
    this.#prefix = readKey ? `/key/${encodeURIComponent(readKey)}` : "";
    [this.#username, this.#password, this.#token, this.#refresh] = [username, password, token, refreshToken];
    [this.#timeout, this.#patience, this.#pageSize] = [timeout, patience, pageSize];
    this.#fetch = fetch ?? ((...all) => globalThis.fetch(...all));
  }

  async active(filter = {}, { signal } = {}) {
    return (await this.#list("/hazards/active", filter, signal)).list;
  }

  search(filter = {}, { signal } = {}) {
    return this.#pages("/hazards", filter, "cursor", signal);
  }

  async count(filter = {}, { signal } = {}) {
    return (await this.#json("/hazards/count", filter, signal)).body.count;
  }

  async hazard(hazard, { at, signal } = {}) {
    return (await this.#json(path("hazards", hazard), { at }, signal)).body;
  }

  async products(hazard, { at, signal } = {}) {
    return (await this.#list(path("hazards", hazard, "products"), { at }, signal)).list;
  }

  async *hazardChanges(hazard, after = 0, { signal } = {}) {
    yield* this.#pages(path("hazards", hazard, "changes"), { after }, "after", signal);
  }

  changes(after = 0, { signal } = {}) {
    return this.#pages("/changes", { after }, "after", signal);
  }

  async *events(after, filter = {}, { signal } = {}) {
    for (let failures = 0;; failures++) {
      let wait = FIRST_WAIT;
      const stream = { number: after, retry: 0 };
      const ended = new AbortController(); // ends the request when the reader stops
      const end = () => ended.abort(signal?.reason);
      signal?.throwIfAborted();
      signal?.addEventListener("abort", end);
      try {
        const answer = await this.#send("GET", "/events", { ...filter, after }, ended.signal, true);
        failures = 0;
        yield* read(answer.body, stream, ended);
      } catch (e) {
        signal?.throwIfAborted();
        if (!(e instanceof HazarddError) || !["network", "limited", "unavailable", "answer"].includes(e.kind) && e.status < 500) throw e;
        wait = Math.max(wait, Math.min(e.retryAfter, 60) * 1000);
      } finally {
        after = stream.number;
        signal?.removeEventListener("abort", end);
        ended.abort();
      }
      wait = Math.min(Math.max(wait, stream.retry) * 2 ** Math.min(failures, 5), LONGEST_WAIT);
      await sleep(wait * (0.75 + Math.random() / 2), signal); // not all readers at once
    }
  }

  async ticket(after, filter = {}, { signal } = {}) {
    return decode(await this.#send("POST", "/events/tickets", { ...filter, after }, signal));
  }

  createHazard(fields, { signal } = {}) {
    return this.#write("POST", "/hazards", { uuid: crypto.randomUUID(), ...fields }, signal);
  }

  patchHazard(hazard, fields, { signal } = {}) {
    return this.#write("PATCH", path("hazards", hazard), fields, signal);
  }

  endHazard(hazard, call) {
    return this.patchHazard(hazard, { status: "E" }, call);
  }

  retractHazard(hazard, reason, { signal } = {}) {
    return this.#write("POST", path("hazards", hazard, "retract"), { reason }, signal);
  }

  createProduct(hazard, fields, { signal } = {}) {
    return this.#write("POST", path("hazards", hazard, "products"), { uuid: crypto.randomUUID(), ...fields }, signal);
  }

  patchProduct(product, fields, { signal } = {}) {
    return this.#write("PATCH", path("products", product), fields, signal);
  }

  async deleteProduct(product, { signal } = {}) {
    await this.#send("DELETE", path("products", product), {}, signal);
  }

  async logout() {
    const refreshToken = this.#refresh;
    this.#token = this.#refresh = "";
    if (refreshToken) await this.#post("/authorize/revoke", { refreshToken });
  }

  async #json(path, parameters, signal) {
    const answer = await this.#send("GET", path, parameters, signal);
    return { body: await decode(answer), headers: answer.headers };
  }

  async #write(method, path, fields, signal) {
    const answer = await this.#send(method, path, {}, signal, false, fields);
    if (answer.status === 202) throw new HazarddError("waits", `the change waits for a second person: ${answer.headers.get("Location") ?? ""}`, { status: 202, title: "Accepted" });
    return decode(answer);
  }

  async #list(path, parameters, signal) {
    const { body, headers } = await this.#json(path, parameters, signal);
    if (!Array.isArray(body)) throw new HazarddError("answer", "the answer is no list");
    const state = { change: Number(headers.get("Hazardd-Change") ?? 0), sources: headers.get("Hazardd-Sources") ?? "", coverage: headers.get("Hazardd-Coverage") ?? "", possible: countOf(headers.get("Hazardd-Possible")) };
    return { list: Object.assign(body, state), link: /<([^>]*)>;[^,]*rel="?next"?/.exec(headers.get("Link") ?? "")?.[1] };
  }

  async *#pages(path, parameters, place, signal) {
    parameters = { limit: this.#pageSize, ...parameters };
    for (;;) {
      const { list, link } = await this.#list(path, parameters, signal);
      yield* list;
      if (!link) return;
      // The link may lead anywhere: only the place in the list is taken from it.
      const at = new URL(link, this.#base).searchParams.get(place);
      if (!at || at === String(parameters[place])) throw new HazarddError("answer", "the next page does not lead on");
      parameters[place] = at;
    }
  }

  async #send(method, path, parameters, signal, stream = false, body = undefined) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined && value !== null && value !== "") query.set(name, text(value));
    }
    const address = this.#base + this.#prefix + path + (query.size ? `?${query}` : "");
    for (let refused = "", until = performance.now() + this.#patience;;) {
      const token = await this.#access(refused, signal);
      try {
        return await this.#open(method, address, body, token, signal, stream);
      } catch (e) {
        if (!(e instanceof HazarddError)) throw e;
        if (e.kind === "unauthorized" && token && !refused && this.#canRenew()) {
          refused = token;
          continue;
        }
        const wait = e.retryAfter * 1000;
        if (stream || !wait || !["limited", "unavailable"].includes(e.kind) || performance.now() + wait > until) throw e;
        await sleep(wait, signal);
      }
    }
  }

  async #open(method, address, body, token, signal, stream) {
    const headers = { Accept: "application/json, text/event-stream" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (token) headers.Authorization = `Bearer ${token}`;
    const slow = AbortSignal.timeout(this.#timeout); // a stream has a watch of its own
    const signals = [...stream ? [] : [slow], ...signal ? [signal] : []];
    let answer;
    try {
      answer = await this.#fetch(address, {
        method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", credentials: "omit",
        redirect: "error", // the token would go along
        signal: signals.length ? AbortSignal.any(signals) : undefined,
      });
    } catch (e) {
      signal?.throwIfAborted();
      throw new HazarddError("network", slow.aborted ? "no answer in time" : String(e?.cause?.message || e?.message || e));
    }
    if (!answer.ok) throw await problem(answer);
    return answer;
  }

  #canRenew() {
    return Boolean(this.#username || this.#refresh);
  }

  // A token that is not the refused one. What gets a new one belongs to no call: one that is cancelled meanwhile loses nothing.
  async #access(refused, signal) {
    if (this.#prefix) return "";
    const good = () => this.#token && this.#token !== refused;
    if (good() && (performance.now() < this.#renewAt || !this.#canRenew())) return this.#token;
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    try {
      await until(this.#renewing, signal);
    } catch (e) {
      signal?.throwIfAborted();
      if (!good() || performance.now() >= this.#expiresAt) throw e;
      this.#renewAt = performance.now() + 5000; // it still is good
    }
    return this.#token;
  }

  async #renew() {
    if (this.#refresh) {
      try {
        return await this.#adopt(() => this.#post("/authorize/refresh", { refreshToken: this.#refresh }));
      } catch (e) {
        if (!this.#username || e.status >= 500 || ["limited", "network"].includes(e.kind)) throw e;
      }
    }
    if (!this.#username) throw new HazarddError("unauthorized", "there is neither a token nor a name and password");
    await this.#adopt(() => this.#post("/authorize", { username: this.#username, password: this.#password }));
  }

  async #adopt(ask) {
    const began = performance.now();
    const lost = (e) => {
      if (e.kind !== "network") throw e;
      return ask(); // a lost answer: the server gives the same pair for some seconds
    };
    const pair = await decode(await ask().catch(lost));
    this.#token = pair.accessToken;
    this.#refresh = pair.refreshToken || this.#refresh;
    const life = lifeOf(this.#token);
    this.#expiresAt = began + life;
    this.#renewAt = began + life - Math.min(60_000, life / 4);
  }

  #post(path, body) {
    return this.#open("POST", this.#base + path, body, "");
  }
}

// Reads server-sent events (HTML standard, section 9.2.6). stream knows where the stream is.
async function* read(body, stream, ended) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", kind = "", data = [], last = "", size = 0;
  for (;;) {
    const quiet = setTimeout(() => ended.abort(), QUIET);
    let part;
    try {
      part = await reader.read();
    } catch (e) {
      throw new HazarddError("network", String(e?.message ?? e));
    } finally {
      clearTimeout(quiet);
    }
    if (part.done) return; // maybe in the middle of an event
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    size += part.value.length;
    if (size > MAX_EVENT) throw new HazarddError("answer", "an event is too large");
    for (const ended of lines) {
      const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
      const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
      if (name === "event") kind = value;
      else if (name === "data") data.push(value);
      else if (name === "id") last = value;
      else if (name === "retry" && /^\d+$/.test(value)) stream.retry = Math.min(Number(value), LONGEST_WAIT);
      if (line) continue;
      const number = /^\d+$/.test(last) ? Number(last) : stream.number;
      if (data.length) {
        let parsed;
        try {
          parsed = JSON.parse(data.join("\n"));
        } catch {
          throw new HazarddError("answer", "an event is no JSON");
        }
        // Told before it counts: who stops in between is told again.
        yield { number: number ?? 0, type: kind, data: parsed, reset: kind === "reset" ? parsed.reason || "reset" : "" };
      }
      stream.number = number;
      [kind, data, last, size] = ["", [], "", 0];
    }
  }
}

function path(...parts) {
  const texts = parts.map(String);
  if (texts.some((one) => ["", ".", ".."].includes(one))) throw new HazarddError("invalid", "a name is empty; expected a uuid or a number");
  return texts.map((one) => `/${encodeURIComponent(one)}`).join("");
}

// countOf is the number that a header begins with; null: there is none.
function countOf(header) {
  const digits = /^\d+/.exec(header ?? "");
  return digits && Number(digits[0]);
}

function text(value) {
  if (Array.isArray(value)) return value.map(text).join(",");
  return value instanceof Date ? value.toISOString() : String(value);
}

async function decode(answer) {
  let body;
  try {
    body = await answer.text();
  } catch (e) {
    if (e?.name === "AbortError") throw e;
    throw new HazarddError("network", "the answer broke off");
  }
  try {
    return JSON.parse(body);
  } catch {
    throw new HazarddError("answer", "the answer is no JSON");
  }
}

async function problem(answer) {
  const media = (answer.headers.get("Content-Type") ?? "").split(";")[0];
  const body = await answer.text().catch(() => "");
  let said = {};
  if (media.endsWith("json")) {
    try {
      said = JSON.parse(body) ?? {};
    } catch { /* the status alone says enough */ }
  } else if (media === "text/plain") said = { detail: body };
  if (answer.status === 401 && answer.headers.get("Hazardd-Second-Factor")) {
    said = { detail: "the account has a second factor, which a program cannot give; use a token of a service (hazardd token NAME --service)" };
  }
  // The base interface says 403 of a token.
  const kind = answer.status === 403 && media !== "application/problem+json" ? "unauthorized" : KINDS[answer.status] ?? "answer";
  return new HazarddError(kind, line(said.detail), { status: answer.status, title: line(said.title ?? answer.statusText), errors: said.errors ?? [], retryAfter: retryAfter(answer.headers.get("Retry-After")) });
}

const line = (said) => String(said ?? "").replace(/[\p{C}\s]+/gu, " ").trim().slice(0, 300);

function retryAfter(value) {
  if (/^\d+$/.test(value ?? "")) return Math.min(Number(value), 86_400);
  const at = Date.parse(value ?? "");
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1000);
}

// For how many ms a token is good from its issue on; its signature is the server's business.
function lifeOf(token) {
  try {
    const { exp, iat } = JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    return exp > iat ? Math.max(1, exp - iat - 1) * 1000 : Infinity;
  } catch {
    return Infinity;
  }
}

// What a promise gives, unless the signal comes first.
function until(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function sleep(ms, signal) {
  let timer;
  const slept = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return until(slept, signal).finally(() => clearTimeout(timer));
}

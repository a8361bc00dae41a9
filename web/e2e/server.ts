// The real service for tests: the binary that was built, on a store of its own, with users that the tests know. It can be stopped and started
// again on the same address.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Hazard, Product } from "../src/model";

const binary = process.env["HAZARDD_BINARY"] ?? new URL("../../bin/hazardd", import.meta.url).pathname;

export interface Account {
  readonly name: string;
  readonly password: string;
}

export const editor: Account = { name: "ada", password: "umbrella trombone quartz lagoon" };
export const reader: Account = { name: "rita", password: "harbour velvet cactus thunder" };
/**
 * An address of this machine that nobody else gets until this process ends, as the Go tests have theirs (internal/test/address.go):
 * below the ports that the kernel gives to whoever asks for any, and held by the UDP port of the same number.
 */
export async function freeAddress(): Promise<string> {
  for (;;) {
    const port = 20000 + Math.floor(Math.random() * 10000);
    const held = createSocket("udp4").unref();
    const holder = createServer();
    try {
      held.bind(port, "127.0.0.1");
      await once(held, "listening");
      holder.listen(port, "127.0.0.1");
      await once(holder, "listening");
    } catch {
      continue; // taken
    }
    holder.close();
    await once(holder, "close");
    return `http://127.0.0.1:${port}`;
  }
}

/** Whose password a test may change. */
export const visitor: Account = { name: "vera", password: "lantern pickle orbit meadow" };

export class Server {
  readonly #dir = mkdtempSync(join(tmpdir(), "hazardd-e2e-"));
  #process: ChildProcess | undefined;
  #token = "";
  readonly #orgs = new Set<string>();
  /** The address of the service, without a slash at its end. */
  url = "";

  /** `flags` are of `hazardd serve`; one with a public address listens there. */
  private constructor(private readonly flags: readonly string[]) {
    if (flags.includes("--public-url")) this.url = flags[flags.indexOf("--public-url") + 1]!;
  }

  static async start(...flags: string[]): Promise<Server> {
    const server = new Server(flags);
    for (const [account, role] of [[editor, "editor"], [reader, "reader"], [visitor, "reader"]] as const) server.add(account, role);
    await server.up();
    return server;
  }

  /** Adds a user; a running service knows it within a second. */
  add(account: Account, role: "editor" | "reader" | "admin"): void {
    execFileSync(binary, ["user", "add", account.name, "--role", role, "--password-stdin", "--data", this.#dir], { input: account.password });
  }

  /** Makes the first organization, with a member and its places, once. */
  assets(org: string, member: Account, csv: string): void {
    if (this.#orgs.has(org)) return;
    this.#orgs.add(org);
    execFileSync(binary, ["org", "add", org, "--name", org, "--data", this.#dir]);
    execFileSync(binary, ["user", "add", member.name, "--role", "reader", "--org", "1", "--password-stdin", "--data", this.#dir], { input: member.password });
    execFileSync(binary, ["assets", "load", "-", "--org", org, "--data", this.#dir], { input: csv });
  }

  /** Starts the service; the second time on the address of the first. */
  async up(): Promise<void> {
    this.url ||= await freeAddress();
    const child = (this.#process = spawn(binary, ["serve", "--data", this.#dir, "--listen", new URL(this.url).host, "--sources", "none", "--grace", "1s", "--log-level", "warn", ...this.flags], {
      stdio: ["ignore", "pipe", "inherit"],
    }));
    for await (const line of createInterface({ input: child.stdout! })) {
      const ready = /ready at (\S+)/.exec(line);
      if (!ready) continue;
      this.url = ready[1]!;
      child.stdout!.resume(); // nothing more is to be read
      return;
    }
    throw new Error("hazardd serve ended before it was ready");
  }

  /** Stops the service as a crash would, with all its connections. */
  async down(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  async remove(): Promise<void> {
    await this.down();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** A request as the editor. The answer must be one of success. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    this.#token ||= await this.#login();
    const form = body instanceof FormData;
    const answer = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.#token}`, ...(body === undefined || form ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  async #login(): Promise<string> {
    const answer = await fetch(`${this.url}/authorize`, { method: "POST", body: JSON.stringify({ username: editor.name, password: editor.password }) });
    return ((await answer.json()) as { accessToken: string }).accessToken;
  }

  /** Makes a hazard: a flood in Hamburg unless told otherwise. */
  hazard(name: string, other: Readonly<Record<string, unknown>> = {}): Promise<Hazard> {
    return this.call("POST", "/hazards", { hazard_Name: name, type_ID: "FLOOD", severity_ID: "WATCH", latitude: 53.55, longitude: 10, ...other });
  }

  patch(h: Hazard, change: Readonly<Record<string, unknown>>): Promise<Hazard> {
    return this.call("PATCH", `/hazards/${h.hazard_ID}`, change);
  }

  read(h: Pick<Hazard, "uuid">): Promise<Hazard> {
    return this.call("GET", `/hazards/${h.uuid}`);
  }

  products(h: Pick<Hazard, "uuid">): Promise<Product[]> {
    return this.call("GET", `/hazards/${h.uuid}/products`);
  }

  product(h: Hazard, product: Readonly<Record<string, unknown>>, file?: { name: string; content: string }): Promise<Product> {
    if (!file) return this.call("POST", `/hazards/${h.hazard_ID}/products`, product);
    const form = new FormData();
    form.set("product", JSON.stringify(product));
    form.set("file", new Blob([file.content]), file.name);
    return this.call("POST", `/hazards/${h.hazard_ID}/products`, form);
  }

  /** A token of a program that counts the drafts that wait; a running service knows it within a second. */
  async watcher(): Promise<string> {
    const token = execFileSync(binary, ["token", "wall", "--service", "--scope", "drafts", "--data", this.#dir], { encoding: "utf8" }).trim();
    while (!(await fetch(`${this.url}/drafts/count`, { headers: { Authorization: `Bearer ${token}` } })).ok);
    return token;
  }

  /** Takes in a payload of a source, as if it had been polled now. */
  import(source: string, payload: unknown): void {
    execFileSync(binary, ["import", "--source", source, "--data", this.#dir, "-"], { input: JSON.stringify(payload) });
  }

  /** Ends all that is active, so that the next test begins with an empty map. */
  async clear(): Promise<void> {
    const active = await this.call<Hazard[]>("GET", "/hazards/active");
    while (active.length > 0) await Promise.all(active.splice(0, 30).map((h) => this.patch(h, { status: "E" }))); // more at once are refused
  }
}

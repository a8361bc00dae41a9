import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Api, LoggedOutError, LostError, Problem } from "../src/api";

const encode = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
let serial = 0;
const token = (name = "red") => `x.${encode({ sub: name, role: "editor", orgs: [3], iat: 1000, exp: 4600, jti: ++serial })}.x`;
const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
const pair = () => json({ accessToken: token(), refreshToken: `refresh-${serial}` });
const invalid = () => new Response("Invalid Token", { status: 403, headers: { "Content-Type": "text/plain" } });
const problem = (status: number, detail: string, headers = {}) => new Response(JSON.stringify({ status, detail }), { status, headers: { "Content-Type": "application/problem+json", ...headers } });

/** A server of which each path is a function; it notes what it was asked. */
function server(paths: Record<string, (request: { body: string; auth: string; method: string }) => Response | Promise<Response>>) {
  const asked: string[] = [];
  const fetch = vi.fn(async (url: string | URL | Request, init?: RequestInit) => {
    const path = String(url);
    asked.push(`${init?.method} ${path}`);
    const handle = paths[path] ?? (() => new Response("no", { status: 404 }));
    return handle({ body: String(init?.body ?? ""), auth: (init?.headers as Record<string, string> | undefined)?.["Authorization"] ?? "", method: init?.method ?? "GET" });
  });
  return { asked, api: new Api("", fetch as unknown as typeof globalThis.fetch) };
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("the login", () => {
  test("says who we are, as the token does, and tells pages of it", async () => {
    const { api, asked } = server({ "/authorize": pair });
    expect(await api.login("red", "fire")).toEqual({ name: "red", role: "editor", orgs: [3] });
    expect(asked).toContain("POST /session");
  });
  test("that is not accepted is a problem of status 401, in the server's words", async () => {
    const { api } = server({ "/authorize": () => new Response("Authentication failed.", { status: 401 }) });
    await expect(api.login("red", "ice")).rejects.toMatchObject({ name: "Problem", status: 401, detail: "Authentication failed." });
  });
  test("renews its tokens by itself before they end", async () => {
    const { api, asked } = server({ "/authorize": pair, "/authorize/refresh": pair });
    await api.login("red", "fire");
    await vi.advanceTimersByTimeAsync(0.79 * 3600_000);
    expect(asked).not.toContain("POST /authorize/refresh");
    await vi.advanceTimersByTimeAsync(0.02 * 3600_000);
    expect(asked.filter((a) => a === "POST /authorize/refresh")).toHaveLength(1);
  });
  test("tries a lost renewal again, soon enough to get the same answer", async () => {
    let n = 0;
    const { api, asked } = server({ "/authorize": pair, "/authorize/refresh": () => (++n === 1 ? Promise.reject(new TypeError("lost")) : pair()) });
    const over = vi.fn();
    api.onEnded = over;
    await api.login("red", "fire");
    await vi.advanceTimersByTimeAsync(0.8 * 3600_000 + 9_000);
    expect(asked.filter((a) => a === "POST /authorize/refresh")).toHaveLength(2);
    expect(over).not.toHaveBeenCalled();
  });
  test("is forgotten at once on log-out, and revoked", async () => {
    const { api, asked } = server({ "/authorize": pair, "/authorize/revoke": () => new Response(null, { status: 204 }) });
    await api.login("red", "fire");
    const done = api.logout();
    expect(api.user).toBeUndefined();
    await done;
    expect(asked).toEqual(expect.arrayContaining(["POST /authorize/revoke", "DELETE /session"]));
    await expect(api.get("/hazards/active")).rejects.toBeInstanceOf(LoggedOutError);
  });
});

describe("a request", () => {
  test("whose token is no longer good renews it once for all, and is repeated", async () => {
    let good = "";
    const { api, asked } = server({
      "/authorize": pair,
      "/authorize/refresh": () => {
        const access = token();
        good = `Bearer ${access}`;
        return json({ accessToken: access, refreshToken: "r2" });
      },
      "/a": ({ auth }) => (auth === good ? json("a") : invalid()),
      "/b": ({ auth }) => (auth === good ? json("b") : invalid()),
    });
    await api.login("red", "fire");
    expect(await Promise.all([api.get("/a"), api.get("/b")])).toEqual(["a", "b"]);
    expect(asked.filter((x) => x === "POST /authorize/refresh")).toHaveLength(1);
  });
  test("whose login is revoked ends it, and says so once", async () => {
    const { api } = server({ "/authorize": pair, "/authorize/refresh": () => new Response("Authentication failed.", { status: 401 }), "/a": invalid });
    const over = vi.fn();
    api.onEnded = over;
    await api.login("red", "fire");
    await Promise.all([expect(api.get("/a")).rejects.toBeInstanceOf(LoggedOutError), expect(api.get("/a")).rejects.toBeInstanceOf(LoggedOutError)]);
    expect(over).toHaveBeenCalledTimes(1);
    expect(api.user).toBeUndefined();
  });
  test("that is forbidden to the role is a problem, and ends no login", async () => {
    const { api, asked } = server({ "/authorize": pair, "/a": () => problem(403, "this takes the role editor") });
    await api.login("red", "fire");
    await expect(api.get("/a")).rejects.toMatchObject({ status: 403, detail: "this takes the role editor" });
    expect(api.user).toBeDefined();
    expect(asked).not.toContain("POST /authorize/refresh");
  });
  test("names the faults of its input and when to come again", async () => {
    const body = JSON.stringify({ detail: "bad", errors: [{ pointer: "/title", detail: "is missing" }] });
    const { api } = server({ "/authorize": pair, "/a": () => new Response(body, { status: 400, headers: { "Content-Type": "application/problem+json", "Retry-After": "7" } }) });
    await api.login("red", "fire");
    const error = await api.write("POST", "/a", {}).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ faults: [{ pointer: "/title", detail: "is missing" }], retryAfter: 7 });
  });
  test("that gets no answer is lost", async () => {
    const { api } = server({ "/authorize": pair, "/a": () => Promise.reject(new TypeError("failed to fetch")) });
    await api.login("red", "fire");
    await expect(api.get("/a")).rejects.toBeInstanceOf(LostError);
  });
});

test("the server's clock is taken from its answers, if it differs by more than their whole seconds", async () => {
  vi.setSystemTime(1_000_000_000_000);
  const at = (ms: number) => () => new Response("[]", { headers: { Date: new Date(1_000_000_000_000 + ms).toUTCString(), "Content-Type": "application/json" } });
  const { api } = server({ "/authorize": pair, "/same": at(1_000), "/ahead": at(90_000) });
  await api.login("red", "fire");
  await api.get("/same");
  expect(api.skew).toBe(0);
  await api.get("/ahead");
  expect(api.now()).toBe(1_000_000_090_500);
});

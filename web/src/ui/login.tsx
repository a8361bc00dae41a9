import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { LostError, Problem, type Api, type Provider } from "../api";
import { NARROW } from "../begin";
import { library } from "../map/library";
import { keptView, type Kept } from "../offline";
import { answerOfPasskey, hasPasskeys } from "../passkey";
import { text } from "../words";
import { local, relative } from "../time";
import { LanguageChoice } from "./language";

/**
 * The key in session storage for the address of the view, while the user logs in at the provider.
 */
const AWAY = "hazardd-away";

/** The login page. `ended` says that a login was there and is over. */
export function Login({ api, ended, done, show }: { api: Api; ended: boolean; done: () => void; show: (kept: Kept) => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [factor, setFactor] = useState(""); // the kinds of second factor that the account has
  const [passkeys, setPasskeys] = useState(false);
  const code = useRef<HTMLInputElement>(null);
  const [kept, setKept] = useState<Kept>();
  const [provider, setProvider] = useState<Provider>();
  const name = useRef<HTMLInputElement>(null);
  // At once: a moment later somebody may be typing the password.
  useLayoutEffect(() => name.current?.focus(), []);
  useEffect(() => {
    void api.methods().then((m) => {
      setProvider(m.provider);
      setPasskeys(m.passkeys && hasPasskeys());
    }, () => {});
    const view = comeBack();
    if (view !== undefined) {
      setBusy(true);
      api.loginFromProvider().then((user) => {
        setBusy(false);
        if (!user) return;
        if (view) history.replaceState(null, "", view);
        done();
      }, (e: unknown) => {
        setBusy(false);
        setError(explain(e));
      });
    }
    // A stored view is for readers without a connection; with one, the live page is better.
    const look = () => void (navigator.onLine ? fetch("healthz", { cache: "no-store" }).then(() => undefined, keptView) : keptView()).then(setKept);
    look();
    window.addEventListener("online", look);
    window.addEventListener("offline", look);
    // Load the map's code while the user types, so that it is ready after the login. On a phone the
    // map begins as a picture.
    if (!matchMedia(NARROW).matches) void library().then(() => import("./view")).then((m) => m.warm()).catch(() => {});
    return () => {
      window.removeEventListener("online", look);
      window.removeEventListener("offline", look);
    };
  }, []);
  useEffect(() => {
    if (factor) code.current?.focus();
  }, [factor]);
  async function logIn(how: () => Promise<unknown>) {
    setBusy(true);
    setError("");
    try {
      await how();
      done();
    } catch (e) {
      setBusy(false);
      setError(explain(e));
      if (e instanceof Problem && e.factor) setFactor(e.factor);
      if (e instanceof LostError) setKept(await keptView());
    }
  }
  function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    void logIn(() => api.login(String(form.get("username")), String(form.get("password")), String(form.get("otp") ?? "").trim()));
  }
  return (
    <main class="login">
      <form onSubmit={submit}>
        <h1>{text.name}</h1>
        <p>{text.tagline}</p>
        {ended && !error && <p role="status">{text.login.ended}</p>}
        {provider && (
          <a class="button provider" href={provider.url} onClick={goAway}>
            {text.login.provider({ name: provider.title })}
          </a>
        )}
        <label for="username">{text.login.user}</label>
        <input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck={false} required ref={name} />
        <label for="password">{text.login.password}</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required />
        {factor && (
          <>
            <label for="otp">{text.login.code}</label>
            <input id="otp" name="otp" autocomplete="one-time-code" autocapitalize="none" spellcheck={false} maxLength={20} required ref={code} />
          </>
        )}
        <p class="error" role="alert">{error}</p>
        <button type="submit" disabled={busy}>{busy ? text.login.busy : text.login.submit}</button>
        {passkeys && (
          <button type="button" class="quiet" disabled={busy} onClick={() => void logIn(async () => api.loginByPasskey(await answerOfPasskey(api)))}>
            {text.login.passkey}
          </button>
        )}
        {kept && (
          <button type="button" class="quiet" onClick={() => show(kept)}>
            {text.attention.last({ at: local(kept.at), ago: relative(kept.at, Date.now()) })}
          </button>
        )}
        <p class="hint">{text.login.memory}</p>
        <LanguageChoice />
      </form>
    </main>
  );
}

function goAway(): void {
  try {
    sessionStorage.setItem(AWAY, location.hash);
  } catch {
    // Session storage is not available: the user logs in again.
  }
}

/** The view from before the login at the provider; undefined if there was none. */
function comeBack(): string | undefined {
  try {
    const view = sessionStorage.getItem(AWAY) ?? undefined;
    sessionStorage.removeItem(AWAY);
    return view;
  } catch {
    return undefined;
  }
}

function explain(e: unknown): string {
  if (e instanceof LostError) return text.login.lost;
  if (e instanceof Problem && e.factor) return e.factor === "passkey" ? text.login.passkeyNeeded : text.login.codeNeeded;
  if (e instanceof DOMException) return text.login.passkeyFailed; // the browser's own: cancelled, or none fits
  if (e instanceof Problem && e.status === 401) return text.login.denied;
  if (e instanceof Problem && e.retryAfter) return text.login.limited({ seconds: e.retryAfter });
  return e instanceof Error ? e.message : String(e);
}

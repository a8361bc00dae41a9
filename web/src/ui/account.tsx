// The user's own account: the password, and the logins that are alive. Reached from the menu of the header, over the page.
import { useState } from "preact/hooks";
import { LoggedOutError, LostError, Problem, type Schemas } from "../api";
import { faultsOf, type Faults } from "../edit/draft";
import { Dialog, Field } from "../edit/inputs";
import { programOf } from "../program";
import { byId, names, text } from "../words";
import { usePage } from "./context";
import { answerOfPasskey, hasPasskeys } from "../passkey";
import { Ago, Loading, useData } from "./parts";
import { forEditors } from "./later";

const Factors = forEditors(async () => (await import("./factors")).Factors);

type Session = Schemas["AccountSession"];

export function Account({ close }: { close: () => void }) {
  const { store } = usePage();
  const user = store.api.user;
  // A new password ends all other sessions.
  const [changes, setChanges] = useState(0);
  return (
    <Dialog title={text.account.title} close={close} class="account-dialog">
      <p class="muted">{user && text.header.account({ name: user.name, role: names.role[user.role] })}</p>
      <Password name={user?.name ?? ""} changed={() => setChanges(changes + 1)} />
      <Factors />
      <Sessions changes={changes} />
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{text.close}</button>
      </div>
    </Dialog>
  );
}

function Password({ name, changed }: { name: string; changed: () => void }) {
  const { store } = usePage();
  const [faults, setFaults] = useState<Faults>({});
  const [note, setNote] = useState("");
  const [done, setDone] = useState(false);
  const [busy, setBusy] = useState(false);
  const [factor, setFactor] = useState("");
  async function submit(form: HTMLFormElement, by?: () => Promise<string>) {
    const value = (name: string) => String(new FormData(form).get(name));
    setDone(false);
    setNote("");
    const wrong: Record<string, string> = {};
    for (const name of ["old", "new", "again"]) if (value(name) === "") wrong[name] = text.account.missing;
    if (!wrong["again"] && value("again") !== value("new")) wrong["again"] = text.account.differs;
    if (Object.keys(wrong).length > 0) return refuse(form, wrong);
    setFaults({});
    setBusy(true);
    try {
      await store.api.changePassword(value("old"), value("new"), by ? await by() : factor ? value("otp").trim() : "");
      setFactor("");
      form.reset();
      setDone(true);
      changed();
    } catch (error) {
      if (error instanceof Problem && error.factor) {
        setFactor(error.factor);
        setNote(error.factor === "passkey" ? text.login.passkeyNeeded : text.login.codeNeeded);
      } else if (error instanceof DOMException) setNote(text.login.passkeyFailed);
      else if (error instanceof Problem && error.status === 401) refuse(form, { old: text.account.denied });
      else if (error instanceof Problem && error.faults.length > 0) {
        const by = faultsOf(error.faults, ["old", "new"]);
        setNote(by[""] ?? "");
        refuse(form, by);
      } else if (!(error instanceof LoggedOutError)) setNote(explain(error, text.account.lostChange));
    } finally {
      setBusy(false);
    }
  }
  function refuse(form: HTMLFormElement, by: Faults) {
    setFaults(by);
    const first = ["old", "new", "again"].find((name) => by[name]);
    if (first) (form.elements.namedItem(first) as HTMLElement).focus();
  }
  const secret = (of: string, complete: string, hint?: string) => (
    <Field name={of} label={byId(text.account.fields, of)!} faults={faults} hint={hint}>
      {(a) => <input {...a} type="password" autocomplete={complete} />}
    </Field>
  );
  return (
    <form class="edit-form" noValidate onSubmit={(e) => (e.preventDefault(), void submit(e.currentTarget as HTMLFormElement))} aria-label={text.account.password}>
      <h3>{text.account.password}</h3>
      {/* Password managers need the user name. */}
      <input type="text" name="username" autocomplete="username" value={name} readOnly hidden />
      {secret("old", "current-password")}
      {secret("new", "new-password", text.account.rule)}
      {secret("again", "new-password")}
      {factor && (
        <Field name="otp" label={text.login.code} faults={faults}>
          {(a) => <input {...a} type="text" autocomplete="one-time-code" autocapitalize="none" spellcheck={false} maxLength={20} />}
        </Field>
      )}
      <p role="alert" class="fault">{note}</p>
      <p role="status" class="done">{done && text.account.changed}</p>
      <div class="edit-buttons">
        <button type="submit" class="primary" disabled={busy}>{busy ? text.account.changing : text.account.change}</button>
        {factor.includes("passkey") && hasPasskeys() && (
          <button
            type="button"
            disabled={busy}
            onClick={(e) => void submit((e.currentTarget as HTMLButtonElement).form!, () => answerOfPasskey(store.api))}
          >
            {text.login.passkey}
          </button>
        )}
      </div>
    </form>
  );
}

function Sessions({ changes }: { changes: number }) {
  const { store } = usePage();
  const [ended, setEnded] = useState(0);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const state = useData<readonly Session[]>(`sessions ${changes}/${ended}`, (signal) => store.api.get<"/account/sessions">("/account/sessions", { signal }));
  async function end(these: readonly Session[]) {
    setNote("");
    setBusy(true);
    try {
      for (const s of these) await store.api.request(`/account/sessions/${s.id}`, { method: "DELETE", allow: [404] }); // 404: it has already ended
      store.say(text.account.ended({ n: these.length }));
    } catch (error) {
      if (!(error instanceof LoggedOutError)) setNote(explain(error, text.account.lostEnd));
    } finally {
      setBusy(false);
      setEnded((n) => n + 1);
    }
  }
  return (
    <section class="sessions" aria-label={text.account.sessions}>
      <h3>{text.account.sessions}</h3>
      <p class="muted">{text.account.sessionsLong}</p>
      <Loading state={state}>
        {(list) => {
          const others = list.filter((s) => !s.current);
          return (
            <>
              <ul>
                {list.map((s) => (
                  <li key={s.id}>
                    <span>
                      <strong title={s.client}>{programOf(s.client) || text.account.unknown}</strong>
                      {s.current && <span class="flag">{text.account.current}</span>}
                      <span class="muted break">{s.address || text.account.noAddress}</span>
                      <span class="muted">
                        {s.created && (
                          <>
                            {text.account.since} <Ago at={Date.parse(s.created)} />
                          </>
                        )}
                        {s.last_used && (
                          <>
                            , {text.account.used} <Ago at={Date.parse(s.last_used)} />
                          </>
                        )}
                      </span>
                    </span>
                    {!s.current && (
                      <button type="button" disabled={busy} aria-label={endLong(programOf(s.client) || text.account.unknown, s.address)} onClick={() => void end([s])}>{text.account.end}</button>
                    )}
                  </li>
                ))}
              </ul>
              {others.length > 1 && <button type="button" class="danger" disabled={busy} onClick={() => void end(others)}>{text.account.endAll({ n: others.length })}</button>}
            </>
          );
        }}
      </Loading>
      <p role="alert" class="fault">{note}</p>
    </section>
  );
}

const endLong = (program: string, address: string): string => (address ? text.account.endLongAt({ program, address }) : text.account.endLong({ program }));

function explain(error: unknown, lost: string): string {
  if (error instanceof LostError) return lost;
  if (error instanceof Problem && error.retryAfter) return text.login.limited({ seconds: error.retryAfter });
  return error instanceof Error ? error.message : String(error);
}

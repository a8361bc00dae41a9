// The second factor of the user's own account: an authenticator app, passkeys, recovery codes.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { LoggedOutError, Problem, type Schemas } from "../api";
import { explain, Field } from "../edit/inputs";
import { answerOfPasskey, hasPasskeys, makePasskey } from "../passkey";
import { local } from "../time";
import { text, words } from "../words";
import { usePage } from "./context";
import { Loading, useData } from "./parts";

type State = Schemas["FactorState"];
type Passkey = Schemas["Passkey"];

/** What is being done. */
type Step =
  | { readonly do: "app" | "removeApp" | "passkey" | "codes" }
  | { readonly do: "confirm"; readonly setup: State }
  | { readonly do: "rename" | "remove"; readonly passkey: Passkey };

export function Factors() {
  const { store } = usePage();
  const [changes, setChanges] = useState(0);
  const [step, setStep] = useState<Step>();
  const [codes, setCodes] = useState<readonly string[]>([]);
  const state = useData<Schemas["Factors"]>(`factors ${changes}`, (signal) => store.api.get<"/account/factors">("/account/factors", { signal }));
  const done = (after?: State) => {
    setCodes(after?.recovery_codes ?? []);
    setStep(undefined);
    setChanges((n) => n + 1);
  };
  const button = (of: Step, label: string, long?: string) => <button type="button" aria-label={long} onClick={() => (setCodes([]), setStep(of))}>{label}</button>;
  return (
    <section class="sessions" aria-label={words.factor.title}>
      <h3>{words.factor.title}</h3>
      <Loading state={state}>
        {(f) => {
          const has = f.totp !== null || f.passkeys.length > 0;
          const form = step && (
            <StepForm
              key={step.do}
              step={step}
              proof={has && step.do !== "confirm"}
              passkeys={f.passkeys.length > 0}
              next={setStep}
              done={done}
              cancel={() => setStep(undefined)}
            />
          );
          return (
            <>
              {!has && <p class={f.required ? "made" : "muted"}>{f.required ? words.factor.needed : words.factor.none}</p>}
              <ul>
                {f.totp !== null && (
                  <li>
                    <strong>{words.factor.appSince({ at: local(Date.parse(f.totp)) })}</strong>
                    {button({ do: "removeApp" }, words.factor.appRemove)}
                  </li>
                )}
                {f.passkeys.map((p) => (
                  <li key={p.id}>
                    <span>
                      <strong>
                        <bdi>{p.name}</bdi>
                      </strong>
                      <span class="muted">{p.last_used ? words.factor.usedAt({ at: local(Date.parse(p.last_used)) }) : words.factor.neverUsed}</span>
                    </span>
                    <span class="edit-buttons">
                      {button({ do: "rename", passkey: p }, words.factor.rename, words.factor.renameLong({ name: p.name }))}
                      {button({ do: "remove", passkey: p }, words.users.remove, words.factor.removeLong({ name: p.name }))}
                    </span>
                  </li>
                ))}
              </ul>
              {has && <p class="muted">{words.factor.codesLeft({ n: f.recovery_codes_left })}</p>}
              {codes.length > 0 && (
                <div class="made" role="status">
                  <p>{words.factor.codesKeep}</p>
                  <ul class="codes">
                    {codes.map((c) => (
                      <li key={c}>
                        <code>{c}</code>
                      </li>
                    ))}
                  </ul>
                  <button type="button" onClick={() => setCodes([])}>{words.factor.kept}</button>
                </div>
              )}
              {form ?? (
                <div class="edit-buttons">
                  {f.totp === null && button({ do: "app" }, words.factor.appAdd)}
                  {f.passkeys_off === "" && hasPasskeys() && button({ do: "passkey" }, words.factor.passkeyAdd)}
                  {has && button({ do: "codes" }, words.factor.codesNew)}
                </div>
              )}
              {(f.passkeys_off !== "" || !hasPasskeys()) && <p class="muted">{f.passkeys_off ? words.factor.off({ why: f.passkeys_off }) : words.factor.unsupported}</p>}
            </>
          );
        }}
      </Loading>
    </section>
  );
}

/** The form of a step. `proof`: the account has a second factor, which the step needs, too. */
function StepForm(
  { step, proof, passkeys, next, done, cancel }: { step: Step; proof: boolean; passkeys: boolean; next: (s: Step) => void; done: (after?: State) => void; cancel: () => void },
) {
  const { store } = usePage();
  const [busy, setBusy] = useState(false);
  const [note, setNote] = useState("");
  const send = async (body: Readonly<Record<string, unknown>>): Promise<State> => (await (await store.api.request("/account/factors", { method: "POST", body })).json()) as State;
  async function act(form: HTMLFormElement, otp: string) {
    const value = (name: string) => String(new FormData(form).get(name) ?? "").trim();
    const proved = { password: String(new FormData(form).get("factor-password") ?? ""), ...(otp && { otp }) };
    switch (step.do) {
      case "app":
        return next({ do: "confirm", setup: await send(proved) });
      case "confirm":
        return done(await send({ otp }));
      case "removeApp":
        return done(await send({ otp, remove: true }));
      case "codes":
        return done(await send({ kind: "recovery", ...proved }));
      case "remove":
        return done(await send({ kind: "passkey", id: step.passkey.id, remove: true, ...proved }));
      case "rename":
        await store.api.request(`/account/factors/${step.passkey.id}`, { method: "PATCH", body: { name: value("factor-name") } });
        return done();
      case "passkey": {
        const credential = await makePasskey((await send({ kind: "passkey", ...proved })).publicKey);
        return done(await send({ kind: "passkey", credential, name: value("factor-name") }));
      }
    }
  }
  async function submit(form: HTMLFormElement, by?: () => Promise<string>) {
    setNote("");
    setBusy(true);
    try {
      await act(form, by ? await by() : String(new FormData(form).get("factor-code") ?? "").trim());
    } catch (error) {
      if (error instanceof Problem && error.status === 401) setNote(words.factor.denied);
      else if (error instanceof DOMException) setNote(text.login.passkeyFailed); // the browser's own: cancelled, or none fits
      else if (!(error instanceof LoggedOutError)) setNote(explain(error));
    } finally {
      setBusy(false);
    }
  }
  const input = (name: string, label: string, more: Readonly<Record<string, unknown>>, hint?: string): ComponentChildren => (
    <Field name={name} label={label} faults={{}} hint={hint}>{(a) => <input {...a} {...more} required />}</Field>
  );
  const code = step.do === "confirm" ? text.login.code : words.factor.code;
  return (
    <form class="edit-form" aria-label={words.factor.title} onSubmit={(e) => (e.preventDefault(), void submit(e.currentTarget as HTMLFormElement))}>
      {/* Password managers need the user name. */}
      <input type="text" name="username" autocomplete="username" value={store.api.user?.name} readOnly hidden />
      {step.do === "confirm" && step.setup.qr && (
        <>
          <p>{words.factor.appScan}</p>
          <svg class="qr" viewBox={`0 0 ${step.setup.qr.size} ${step.setup.qr.size}`} role="img" aria-label={words.factor.key}>
            <path d={step.setup.qr.path} />
          </svg>
          <p>
            {words.factor.key}: <code class="break">{step.setup.secret}</code>
          </p>
        </>
      )}
      {(step.do === "passkey" || step.do === "rename") &&
        input("factor-name", words.factor.passkeyName, { type: "text", maxLength: 60, autocomplete: "off", defaultValue: step.do === "rename" ? step.passkey.name : "" }, words.factor.passkeyHint)}
      {step.do !== "confirm" && step.do !== "rename" && step.do !== "removeApp" && input("factor-password", words.factor.password, { type: "password", autocomplete: "current-password" })}
      {step.do !== "rename" && (proof || step.do === "confirm") &&
        input("factor-code", code, { type: "text", autocomplete: "one-time-code", autocapitalize: "none", spellcheck: false, maxLength: 20 })}
      <p role="alert" class="fault">{note}</p>
      <div class="edit-buttons">
        <button type="submit" class="primary" disabled={busy}>{step.do === "confirm" ? words.factor.confirm : step.do === "rename" ? words.save : words.factor.go}</button>
        {proof && passkeys && step.do !== "rename" && hasPasskeys() && (
          <button
            type="button"
            disabled={busy}
            onClick={(e) => void submit((e.currentTarget as HTMLButtonElement).form!, () => answerOfPasskey(store.api))}
          >
            {text.login.passkey}
          </button>
        )}
        <button type="button" onClick={cancel}>{words.cancel}</button>
      </div>
    </form>
  );
}

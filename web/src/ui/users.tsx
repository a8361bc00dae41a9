// Users and organizations, for administrators. Reached from the menu of the header, over the page.
import { useState } from "preact/hooks";
import { LoggedOutError, Problem, type Schemas } from "../api";
import { faultsOf, type Faults } from "../edit/draft";
import { Dialog, explain, Field } from "../edit/inputs";
import { local } from "../time";
import { names, text, words } from "../words";
import { usePage } from "./context";
import { Loading, useData } from "./parts";

type User = Schemas["User"];
type Organization = Schemas["Organization"];

const roles = ["reader", "editor", "admin"] as const;

export function Users({ close }: { close: () => void }) {
  const { store } = usePage();
  const [changes, setChanges] = useState(0);
  const state = useData<{ readonly users: readonly User[]; readonly orgs: readonly Organization[] }>(`users ${changes}`, async (signal) => {
    const [users, orgs] = await Promise.all([store.api.get<"/users">("/users", { signal }), store.api.get<"/organizations">("/organizations", { signal })]);
    return { users, orgs };
  });
  // A generated password is shown once: until the dialog is closed, or another one is generated.
  const [made, setMade] = useState<User>();
  const [opened, setOpened] = useState("");
  const changed = (user?: User) => {
    if (user?.password) setMade(user);
    setOpened("");
    setChanges((n) => n + 1);
  };
  return (
    <Dialog title={text.header.users} close={close} class="account-dialog">
      <Loading state={state}>
        {({ users, orgs }) => (
          <>
            <section class="sessions" aria-label={words.users.users}>
              <h3>{words.users.users}</h3>
              {made && (
                <p class="made" role="status">
                  {words.users.made({ name: made.name })} <code>{made.password}</code>
                </p>
              )}
              <ul>{users.map((u) => <Row key={u.name} user={u} orgs={orgs} changed={changed} open={opened === u.name} toggle={() => setOpened(opened === u.name ? "" : u.name)} />)}</ul>
              <details>
                <summary>{words.users.add}</summary>
                <NewUser orgs={orgs} changed={changed} />
              </details>
            </section>
            <RequiredFactors />
            <section class="sessions" aria-label={words.users.orgs}>
              <h3>{words.users.orgs}</h3>
              {orgs.length === 0 && <p class="muted">{words.users.noOrgs}</p>}
              <ul>
                {orgs.map((o) => (
                  <li key={o.id}>
                    <span>
                      <strong>
                        <bdi>{o.acronym}</bdi>
                      </strong>
                      <bdi>{o.name}</bdi>
                    </span>
                  </li>
                ))}
              </ul>
              <details>
                <summary>{words.users.addOrg}</summary>
                <NewOrganization changed={changed} />
              </details>
            </section>
          </>
        )}
      </Loading>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{text.close}</button>
      </div>
    </Dialog>
  );
}

/** The roles that need a second factor. */
function RequiredFactors() {
  const { store } = usePage();
  const [changes, setChanges] = useState(0);
  const { busy, note, run } = useWrite("factor-", []);
  const state = useData<Schemas["RequiredFactors"]>(`required factors ${changes}`, (signal) => store.api.get<"/factors">("/factors", { signal }));
  const save = (form: HTMLFormElement, configured: readonly string[]) =>
    run(async () => {
      const required = new FormData(form).getAll("factor-role").map(String).concat(configured);
      await store.api.request("/factors", { method: "PUT", body: { required } });
      store.say(words.users.factorSaved);
      setChanges((n) => n + 1);
    });
  return (
    <section class="sessions" aria-label={words.users.factorTitle}>
      <h3>{words.users.factorTitle}</h3>
      <Loading state={state}>
        {(f) => (
          <form class="edit-form" aria-label={words.users.factorTitle} onSubmit={(e) => (e.preventDefault(), void save(e.currentTarget as HTMLFormElement, f.configured))}>
            <p class="muted">{words.users.factorHint}</p>
            {roles.map((r) => (
              <label key={r} class="check">
                <input type="checkbox" name="factor-role" value={r} defaultChecked={f.required.includes(r)} disabled={f.configured.includes(r)} /> {names.role[r]}
              </label>
            ))}
            {f.without.length > 0 && <p>{words.users.factorWithout({ names: f.without.join(", ") })}</p>}
            <p role="alert" class="fault">{note}</p>
            <p role="status" class="done">{changes > 0 && words.users.factorSaved}</p>
            <div class="edit-buttons">
              <button type="submit" class="primary" disabled={busy}>{words.save}</button>
            </div>
          </form>
        )}
      </Loading>
    </section>
  );
}

/** A user in the list, and the form that changes it. */
function Row({ user, orgs, changed, open, toggle }: { user: User; orgs: readonly Organization[]; changed: (user?: User) => void; open: boolean; toggle: () => void }) {
  const of = (id: number) => orgs.find((o) => o.id === id)?.acronym ?? String(id);
  return (
    <li class={open ? "opened" : ""}>
      <span>
        <strong>
          <bdi>{user.name}</bdi>
        </strong>
        {user.disabled && <span class="flag">{words.users.out}</span>}
        {!user.second_factor && !user.issuer && !user.disabled && <span class="flag">{words.users.noFactor}</span>}
        <span class="muted">
          {[names.role[user.role], ...user.orgs.map(of)].join(", ")}
          {user.issuer && <>· {words.users.provider({ address: user.issuer })}</>}
          {user.lapsed && <>· {words.users.lapsed({ at: local(Date.parse(user.lapsed)) })}</>}
          {user.password_ends && <>· {words.users.until({ at: local(Date.parse(user.password_ends)) })}</>}
        </span>
      </span>
      <button type="button" aria-expanded={open} aria-label={words.users.changeLong({ name: user.name })} onClick={toggle}>{words.users.change}</button>
      {open && <Change user={user} orgs={orgs} changed={changed} />}
    </li>
  );
}

/** What can be done to a user. */
function Change({ user, orgs, changed }: { user: User; orgs: readonly Organization[]; changed: (user?: User) => void }) {
  const { store } = usePage();
  const [sure, setSure] = useState(false);
  const { busy, note, faults, run } = useWrite("", ["role", "orgs", "disabled"]);
  const own = store.api.user?.name === user.name;
  const path = `/users/${encodeURIComponent(user.name)}`;
  const save = (form: HTMLFormElement) =>
    run(async () => {
      const body = { orgs: chosenOrgs(form), ...(own ? {} : { role: valueOf(form, "role"), disabled: !new FormData(form).has("allowed") }) };
      await store.api.request(path, { method: "PATCH", body });
      store.say(words.saved);
      changed();
    });
  const password = () =>
    run(async () => {
      changed((await (await store.api.request(`${path}/password`, { method: "POST", body: {} })).json()) as User);
    });
  const remove = () =>
    run(async () => {
      await store.api.request(path, { method: "DELETE", allow: [404] }); // 404: somebody else was faster
      store.say(words.users.removed({ name: user.name }));
      changed();
    });
  return (
    <form class="edit-form" aria-label={words.users.changeLong({ name: user.name })} onSubmit={(e) => (e.preventDefault(), void save(e.currentTarget as HTMLFormElement))}>
      {own ? <p class="muted">{words.users.own}</p> : (
        <>
          <Role name="role" faults={faults} value={user.role} />
          <label class="check">
            <input type="checkbox" name="allowed" defaultChecked={!user.disabled} /> {words.users.allowed}
          </label>
        </>
      )}
      <Orgs orgs={orgs} of={user.orgs} />
      <p role="alert" class="fault">{note}</p>
      <div class="edit-buttons">
        <button type="submit" class="primary" disabled={busy}>{words.save}</button>
        {!user.issuer && !own && <button type="button" disabled={busy} title={words.users.passwordHint} onClick={() => void password()}>{words.users.password}</button>}
        {!own && !sure && <button type="button" class="danger" disabled={busy} onClick={() => setSure(true)}>{words.users.remove}</button>}
      </div>
      {sure && (
        <div role="alert">
          <p>{words.users.removeSure({ name: user.name })}</p>
          <div class="edit-buttons">
            <button type="button" class="danger" disabled={busy} onClick={() => void remove()}>{words.users.removeGo}</button>
            <button type="button" onClick={() => setSure(false)}>{words.cancel}</button>
          </div>
        </div>
      )}
    </form>
  );
}

function NewUser({ orgs, changed }: { orgs: readonly Organization[]; changed: (user?: User) => void }) {
  const { store } = usePage();
  const { busy, note, faults, run } = useWrite("new-", ["name", "role", "orgs"]);
  const add = (form: HTMLFormElement) =>
    run(async () => {
      const body = { name: valueOf(form, "new-name").trim(), role: valueOf(form, "new-role"), orgs: chosenOrgs(form) };
      const user = (await (await store.api.request("/users", { method: "POST", body })).json()) as User;
      form.reset();
      changed(user);
    });
  return (
    <form class="edit-form" noValidate aria-label={words.users.add} onSubmit={(e) => (e.preventDefault(), void add(e.currentTarget as HTMLFormElement))}>
      <Field name="new-name" label={words.users.name} faults={faults} hint={words.users.nameHint}>
        {(a) => <input {...a} type="text" autocomplete="off" autocapitalize="none" spellcheck={false} />}
      </Field>
      <Role name="new-role" faults={faults} value="reader" />
      <Orgs orgs={orgs} of={[]} />
      <p role="alert" class="fault">{note}</p>
      <div class="edit-buttons">
        <button type="submit" class="primary" disabled={busy}>{words.addGo}</button>
      </div>
    </form>
  );
}

function NewOrganization({ changed }: { changed: () => void }) {
  const { store } = usePage();
  const { busy, note, faults, run } = useWrite("org-", ["acronym", "name"]);
  const add = (form: HTMLFormElement) =>
    run(async () => {
      await store.api.request("/organizations", { method: "POST", body: { acronym: valueOf(form, "org-acronym").trim(), name: valueOf(form, "org-name").trim() } });
      form.reset();
      changed();
    });
  return (
    <form class="edit-form" noValidate aria-label={words.users.addOrg} onSubmit={(e) => (e.preventDefault(), void add(e.currentTarget as HTMLFormElement))}>
      <p class="muted">{words.users.orgHint}</p>
      <Field name="org-acronym" label={words.users.acronym} faults={faults} hint={words.users.acronymHint}>{(a) => <input {...a} type="text" maxLength={32} autocomplete="off" />}</Field>
      <Field name="org-name" label={words.users.name} faults={faults}>{(a) => <input {...a} type="text" maxLength={200} autocomplete="off" />}</Field>
      <p role="alert" class="fault">{note}</p>
      <div class="edit-buttons">
        <button type="submit" class="primary" disabled={busy}>{words.addGo}</button>
      </div>
    </form>
  );
}

const Role = ({ name, faults, value }: { name: string; faults: Faults; value: User["role"] }) => (
  <Field name={name} label={words.users.role} faults={faults}>
    {(a) => <select {...a}>{roles.map((r) => <option key={r} value={r} selected={r === value}>{names.role[r]}</option>)}</select>}
  </Field>
);

const Orgs = ({ orgs, of }: { orgs: readonly Organization[]; of: readonly number[] }) =>
  orgs.length === 0 ? null : (
    <fieldset class="orgs">
      <legend>{words.users.orgs}</legend>
      {orgs.map((o) => (
        <label key={o.id} class="check">
          <input type="checkbox" name="orgs" value={o.id} defaultChecked={of.includes(o.id)} /> <bdi>{o.acronym}</bdi>
        </label>
      ))}
    </fieldset>
  );

const valueOf = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? "");
const chosenOrgs = (form: HTMLFormElement): number[] => new FormData(form).getAll("orgs").map(Number);

/**
 * A write to the server: whether it is in progress, and its errors, in general and by field. Names
 * of fields in the form begin with `prefix`.
 */
function useWrite(prefix: string, fields: readonly string[]) {
  const [busy, setBusy] = useState(false);
  const [note, setNote] = useState("");
  const [faults, setFaults] = useState<Faults>({});
  async function run(write: () => Promise<void>) {
    setNote("");
    setFaults({});
    setBusy(true);
    try {
      await write();
    } catch (error) {
      if (error instanceof LoggedOutError) return;
      const by = error instanceof Problem && error.faults.length > 0 ? faultsOf(error.faults, fields) : {};
      setFaults(Object.fromEntries(Object.entries(by).map(([field, what]) => [prefix + field, what])));
      setNote(by[""] ?? (Object.keys(by).length > 0 ? "" : explain(error)));
    } finally {
      setBusy(false);
    }
  }
  return { busy, note, faults, run };
}

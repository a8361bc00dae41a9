// Following one hazard until it is over: over Web Push of this browser, without an account; or by its feed.
import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "./api";
import type { Hazard } from "./model";
import { canPush, push, RefusedError } from "./tell/push";
import { deviceZone } from "./time";
import { usePage } from "./ui/context";
import { Icon, useData } from "./ui/parts";
import { language, text } from "./words";

const STORED = "hazardd.followed";

/** The subscription of each hazard that this browser follows, by its uuid. */
type Followed = Readonly<Record<string, { readonly id: string; readonly token?: string }>>;

function followed(): Followed {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "{}") as Followed;
  } catch {
    return {}; // no storage, or another's
  }
}

/** `known` hears when it is known whether the hazard can be followed. */
export function Follow({ h, known }: { h: Hazard; known: () => void }) {
  const page = usePage();
  const { store } = page;
  const offered = useData("follow", () => page.channels());
  useEffect(() => {
    if (offered.data || offered.failed) known();
  }, [offered.data, offered.failed]);
  const [own, setOwn] = useState(() => followed()[h.uuid]);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const key = offered.data?.follow?.public_key;

  function keep(sub: Followed[string] | undefined) {
    const { [h.uuid]: _, ...rest } = followed();
    localStorage.setItem(STORED, JSON.stringify(sub ? { ...rest, [h.uuid]: sub } : rest));
    setOwn(sub);
  }
  async function act(f: () => Promise<Followed[string] | undefined>, said: string) {
    setBusy(true);
    setFault("");
    try {
      keep(await f());
      store.say(said, true);
    } catch (e) {
      setFault(e instanceof RefusedError ? text.attention.refused : (e as Error).message);
    }
    setBusy(false);
  }
  async function follow(key: string) {
    const body = { hazard: h.uuid, name: h.hazard_Name.slice(0, 200), channels: [{ kind: "webpush", to: await push(key) }], language: language().id, time_zone: deviceZone() };
    const made = await store.api.write<Schemas["Subscription"]>("POST", "/subscriptions", body);
    return made && { id: made.id, ...(made.token ? { token: made.token } : {}) };
  }
  async function stop(sub: Followed[string]) {
    if (sub.token) await store.api.request(`/subscriptions/unsubscribe?${new URLSearchParams({ token: sub.token })}`, { method: "POST", allow: [404] });
    else await store.api.request(`/subscriptions/${sub.id}`, { method: "DELETE", allow: [404] });
    return undefined;
  }
  return (
    <>
      {own
        ? (
          <button type="button" disabled={busy} onClick={() => void act(() => stop(own), text.panel.unfollowed)}>
            <Icon name="bell" /> {text.panel.unfollow}
          </button>
        )
        : key && canPush() && (
          <button type="button" disabled={busy} onClick={() => void act(() => follow(key), text.panel.followed)}>
            <Icon name="bell" /> {text.panel.follow}
          </button>
        )}
      {store.api.open && (
        <a class="button" href={`hazards/${h.uuid}?${new URLSearchParams({ f: "atom", lang: language().id })}`} target="_blank" rel="noopener">
          <Icon name="link" /> {text.panel.feed}
        </a>
      )}
      {fault && <p class="note" role="alert">{fault}</p>}
    </>
  );
}

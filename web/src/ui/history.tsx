// Every change of a hazard, the latest first.
import { useState } from "preact/hooks";
import { UndoButton } from "../edit/parts";
import { categoryName, severity, severityName, typeName, type Change, type Hazard } from "../model";
import { byId, number, text } from "../words";
import { local } from "../time";
import { usePage } from "./context";
import { changeName, Loading, Section, useData, When } from "./parts";

export function History({ h, version }: { h: Hazard; version: string }) {
  const { store } = usePage();
  const [open, setOpen] = useState(false);
  const state = useData<Read>(open ? `${h.hazard_ID} ${version}` : undefined, (signal) => readAll((path) => store.api.request(path, { signal }), h.hazard_ID));
  return (
    <Section title={text.panel.history} open={open} onToggle={setOpen} count={state.data?.list.length}>
      {open && (
        <Loading state={state}>
          {({ list, kept }) => (
            <>
              {kept && <p class="note">{text.panel.keptFrom({ when: local(Date.parse(kept)) })}</p>}
              {list.length === 0 ? <p class="muted">{text.panel.noHistory}</p> : <Changes h={h} list={list} />}
            </>
          )}
        </Loading>
      )}
    </Section>
  );
}

/**
 * The changes, latest first, and the time from which they are complete, if older ones were pruned.
 */
interface Read {
  readonly list: readonly Change[];
  readonly kept: string | null;
}

/** Reads all pages; a hazard with more changes than this is shown by its latest ones only on the page of its own. */
const MAX_PAGES = 10;

async function readAll(request: (path: string) => Promise<Response>, id: number): Promise<Read> {
  const all: Change[] = [];
  let kept: string | null = null;
  let after = 0;
  for (let n = 0; n < MAX_PAGES; n++) {
    const answer = await request(`/hazards/${id}/changes?after=${after}&limit=1000`);
    kept ??= answer.headers.get("Hazardd-Kept-From");
    const page = (await answer.json()) as Change[];
    all.push(...page);
    const last = page.at(-1);
    if (!last || !answer.headers.get("Link")?.includes('rel="next"')) break;
    after = last.change;
  }
  return { list: all.reverse(), kept };
}

function Changes({ h, list }: { h: Hazard; list: readonly Change[] }) {
  const { store } = usePage();
  return (
    <ol class="changes" reversed>
      {list.map((c) => (
        <li key={c.change}>
          <p>
            <strong>{changeName(c)}</strong>
            {"product" in c && <>“{c.product.title}”</>}
            <span class="muted">{c.user ?? c.source ?? text.history.service}</span>
          </p>
          <p class="muted">
            #{c.change} · <When at={Date.parse(c.time)} of={h} />
          </p>
          {c.reason && <p>{byId(text.history.reasons, c.reason) ?? c.reason}{c.note && `: ${c.note}`}</p>}
          {c.successor && (
            <p>
              <button type="button" class="small" onClick={() => store.select(c.successor)}>{text.history.successor}</button>
            </p>
          )}
          <Fields change={c} />
          <UndoButton h={h} c={c} history={list} />
        </li>
      ))}
    </ol>
  );
}

/** Fields that only say when and by whom; the change shows that anyway. */
const quiet = ["last_Update", "update_Date", "update_User", "product_total", "timeline_Date"];

function Fields({ change }: { change: Change }) {
  const fields = (change.fields ?? []).filter((f) => !quiet.includes(f.field));
  if (fields.length === 0) return null;
  return (
    <dl class="fields">
      {fields.map((f) => (
        <div key={f.field}>
          <dt>{byId(text.history.fields, f.field) ?? f.field}</dt>
          <dd>
            {isLong(f.from) || isLong(f.to) || f.field === "area"
              ? (
                text.history.changed
              )
              : (
                <>
                  <del>{show(f.field, f.from)}</del> <span aria-hidden="true">→</span> <ins>{show(f.field, f.to)}</ins>
                </>
              )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const isLong = (value: unknown): boolean => (typeof value === "string" && value.length > 120) || (typeof value === "object" && value !== null);

function show(field: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return text.history.none;
  const s = String(value);
  if (field.endsWith("_Date") && /^-?\d+$/.test(s)) return local(Number(s));
  switch (field) {
    case "people":
      return number(Number(s), { maximumSignificantDigits: 2 });
    case "severity_ID":
      return severityName(severity(s));
    case "category_ID":
      return categoryName(s);
    case "type_ID":
      return typeName(s);
    default:
      return s;
  }
}

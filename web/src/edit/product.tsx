// The form of a product: a folder, a text, a link, or a file that is sent with its progress.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { LoggedOutError, Problem } from "../api";
import { isDrill, type Product } from "../model";
import { text } from "../words";
import { usePage } from "../ui/context";
import { IconButton } from "../ui/parts";
import { clashes, emptyProduct, faultsOf, patch, productDraft, productFields, productNames, rebase, type Clash, type Faults, type Fields, type ProductDraft } from "./draft";
import { Clashes, explain, Fault, Field } from "./inputs";
import { Foot } from "./hazard";
import { readProduct, type ProductState } from "./remote";
import type { Task } from "./state";
import { words } from "../words";

export function ProductForm({ task }: { task: Extract<Task, { kind: "product" }> }) {
  const page = usePage();
  const { store, editing } = page;
  const [kept] = useState(() => editing.restore<{ state: ProductState | undefined; draft: ProductDraft }>());
  const [state, setState] = useState(kept?.state);
  const [draft, setDraft] = useState<ProductDraft | undefined>(kept?.draft ?? (task.product ? undefined : emptyProduct(task.parent)));
  const [folders, setFolders] = useState<readonly Product[]>([]);
  const [faults, setFaults] = useState<Faults>({});
  const [note, setNote] = useState(kept ? words.restored : "");
  const [busy, setBusy] = useState(false);
  const [share, setShare] = useState<number>();
  const [clash, setClash] = useState<{ list: readonly Clash[]; now: ProductState; change: Fields; chosen: Record<string, "mine" | "theirs"> }>();
  const file = useRef<HTMLInputElement>(null);
  const root = useRef<HTMLElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  const over = useRef(new AbortController());
  const isNewFile = task.type === "FILE_PRODUCT" && !task.product;

  useEffect(() => {
    title.current?.focus();
    if (kept) editing.dirty.value = true;
    const { signal } = over.current;
    store.api.get<"/hazards/{hazard-id}/products">(`/hazards/${task.h.hazard_ID}/products`, { signal }).then(
      (list) => setFolders(list.filter((p) => p.product_Type === "FOLDER_PRODUCT" && p.product_ID !== task.product?.product_ID)),
      () => {}, // without the list it can be put where it was asked to be
    );
    if (task.product && !state)
      readProduct(store.api, task.product.product_ID).then(
        (s) => {
          setState(s);
          setDraft(productDraft(s.product));
        },
        (e: unknown) => setNote(explain(e)),
      );
    return () => over.current.abort();
  }, []);
  useLayoutEffect(() => {
    if (draft && editing.dirty.peek()) editing.keep({ state, draft });
  }, [draft, state]);
  useEffect(() => {
    if (Object.keys(faults).length > 0) root.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faults]);

  const set = (change: Partial<ProductDraft>) => {
    editing.dirty.value = true;
    setDraft((d) => d && { ...d, ...change });
  };

  async function submit(from: ProductState | undefined, d: ProductDraft, again = 0): Promise<void> {
    setNote("");
    const { fields, faults } = productFields(d, task.type);
    const chosen = file.current?.files?.[0];
    const all = { ...faults, ...(isNewFile && !chosen ? { file: words.fileMissing } : {}) };
    setFaults(all);
    if (Object.keys(all).length > 0) return;
    const change = from ? patch(from.product, fields) : {};
    if (from && Object.keys(change).length === 0) return editing.end();
    setBusy(true);
    try {
      const path = `/hazards/${task.h.hazard_ID}/products`;
      const body = { ...fields, product_Type: task.type, uuid: task.uuid };
      if (from) await store.api.write("PATCH", `/products/${from.product.product_ID}`, change, from.tag);
      else if (chosen) {
        const form = new FormData();
        form.set("product", JSON.stringify(body));
        form.set("file", chosen, chosen.name);
        setShare(0);
        await store.api.upload(path, form, setShare, over.current.signal);
      } else await store.api.write("POST", path, body);
      editing.end();
      store.say(words.saved);
      page.focusPanel.value++;
    } catch (error) {
      if (error instanceof Problem && error.status === 412 && from && again < 3) await onto(from, d, change, again);
      else if (error instanceof Problem && error.faults.length > 0) {
        const by = faultsOf(error.faults, [...Object.keys(d), "file"]);
        setFaults(by);
        setNote(by[""] ? `${words.faults} ${by[""]}` : words.faults);
      } else if (!(error instanceof LoggedOutError) && !over.current.signal.aborted) setNote(explain(error));
    } finally {
      setBusy(false);
      setShare(undefined);
    }
  }

  async function onto(from: ProductState, d: ProductDraft, change: Fields, again: number) {
    try {
      const now = await readProduct(store.api, from.product.product_ID);
      const list = clashes(from.product, now.product, change, productNames);
      if (list.length > 0) return setClash({ list, now, change, chosen: {} });
      await submit(now, rebase(productDraft(now.product), d, change, []), again + 1);
    } catch (error) {
      setNote(explain(error));
    }
  }

  function resolve() {
    if (!clash || !draft) return;
    const open = clash.list.filter((c) => c.mine !== undefined);
    if (open.some((c) => !clash.chosen[c.field])) return setNote(words.clashChoose);
    const next = rebase(productDraft(clash.now.product), draft, clash.change, open.filter((c) => clash.chosen[c.field] === "theirs").map((c) => c.field));
    setState(clash.now);
    setDraft(next);
    setClash(undefined);
    void submit(clash.now, next);
  }

  const heading = task.product ? words.productEdit : (words.productNew[task.type] ?? "");
  const drill = isDrill(task.h);
  const orgs = store.api.user?.orgs ?? [];
  return (
    <section class={`panel edit-panel tall ${drill ? "edit-drill" : ""}`} id="panel" ref={root} aria-label={heading}>
      {drill && (
        <p class="drill-strip">
          <strong>{text.drill.word}</strong> {text.drill.panel}
        </p>
      )}
      <header class="panel-head">
        <div>
          <h2 ref={title} tabIndex={-1}>{heading}</h2>
          <p class="panel-tags muted">{task.h.hazard_Name}</p>
        </div>
        <IconButton icon="close" label={words.cancel} onClick={() => editing.leave()} class="panel-close" />
      </header>
      {!draft ? <p class="panel-body">{note || words.reading}</p> : (
        <form
          class="panel-body edit-form"
          noValidate
          onSubmit={(e) => {
            e.preventDefault();
            if (busy) return;
            if (clash) resolve();
            else void submit(state, draft);
          }}
        >
          {clash && (
            <Clashes
              list={clash.list}
              by={clash.now.product.update_User}
              chosen={clash.chosen}
              choose={(field, whose) => setClash({ ...clash, chosen: { ...clash.chosen, [field]: whose } })}
            />
          )}
          {!clash && (
            <>
              <Field name="title" faults={faults} required>
                {(a) => <input {...a} required maxLength={500} autocomplete="off" value={draft.title} onInput={(e) => set({ title: e.currentTarget.value })} />}
              </Field>
              {isNewFile && (
                <Field name="file" faults={faults} required>
                  {(a) => (
                    <input
                      {...a}
                      type="file"
                      ref={file}
                      required
                      onChange={(e) => {
                        const name = e.currentTarget.files?.[0]?.name;
                        set(name && draft.title === "" ? { title: name } : {});
                      }}
                    />
                  )}
                </Field>
              )}
              {task.type === "TEXT_PRODUCT" && (
                <Field name="data" label={words.data["TEXT_PRODUCT"]!} faults={faults} required>
                  {(a) => <textarea {...a} rows={10} required value={draft.data} onInput={(e) => set({ data: e.currentTarget.value })} />}
                </Field>
              )}
              {task.type === "URL_PRODUCT" && (
                <Field name="data" label={words.data["URL_PRODUCT"]!} faults={faults} required>
                  {(a) => <input {...a} type="url" inputMode="url" required value={draft.data} onInput={(e) => set({ data: e.currentTarget.value })} />}
                </Field>
              )}
              <Field name="parent_ID" faults={faults}>
                {(a) => (
                  <select {...a} value={draft.parent_ID} onChange={(e) => set({ parent_ID: e.currentTarget.value })}>
                    <option value="0">{words.root}</option>
                    {draft.parent_ID !== "0" && !folders.some((f) => String(f.product_ID) === draft.parent_ID) && <option value={draft.parent_ID}>{draft.parent_ID}</option>}
                    {folders.map((f) => <option key={f.product_ID} value={String(f.product_ID)}>{f.title}</option>)}
                  </select>
                )}
              </Field>
              {(orgs.length > 0 || draft.security_Flag === "R") && (
                <Field name="security_Flag" faults={faults}>
                  {(a) => (
                    <select {...a} value={draft.security_Flag} onChange={(e) => set({ security_Flag: e.currentTarget.value as "A" | "R" })}>
                      {(["A", "R"] as const).map((s) => <option key={s} value={s}>{words.security[s]}</option>)}
                    </select>
                  )}
                </Field>
              )}
              <label class="switch">
                <input type="checkbox" checked={draft.is_Hidden === "Y"} onChange={(e) => set({ is_Hidden: e.currentTarget.checked ? "Y" : "N" })} />
                <span>{words.hide}</span>
              </label>
              <Field name="comment_Text" faults={faults}>
                {(a) => <textarea {...a} rows={2} value={draft.comment_Text} onInput={(e) => set({ comment_Text: e.currentTarget.value })} />}
              </Field>
              {share !== undefined && (
                <label class="upload" for="upload">
                  {words.uploading({ percent: Math.round(share * 100) })}
                  <progress id="upload" max={1} value={share} />
                </label>
              )}
            </>
          )}
          <Fault words={faults["product_Type"]} />
          <Foot note={note} busy={busy} label={clash ? words.clashSave : task.product ? words.save : words.addGo} drill={drill} />
        </form>
      )}
    </section>
  );
}

// The products of a hazard, as the tree that they are.
import { AddProduct, ProductTools } from "../edit/parts";
import { useState } from "preact/hooks";
import type { Hazard, Product } from "../model";
import { reflow, webAddress } from "../prose";
import { text } from "../words";
import { tree, type Node } from "../tree";
import { usePage } from "./context";
import { Ago, Icon, Loading, Prose, Section, type IconName, useData } from "./parts";

export function Products({ h, version }: { h: Hazard; version: string }) {
  const { store } = usePage();
  const [hidden, setHidden] = useState(false);
  const at = store.past.value?.at;
  const query = at === undefined ? "" : `?at=${encodeURIComponent(new Date(at).toISOString())}`;
  const state = useData<readonly Product[]>(
    `${h.hazard_ID} ${version}/${h.product_total}/${query}`,
    (signal) => store.api.get<"/hazards/{hazard-id}/products">(`/hazards/${h.hazard_ID}/products${query}`, { signal }),
  );
  const total = state.data?.length ?? Number(h.product_total);
  const anyHidden = state.data?.some((p) => p.is_Hidden === "Y");
  return (
    <Section title={text.panel.products} count={total} open={total > 0 || store.api.user?.role !== "reader"} key={`${h.hazard_ID}`}>
      <Loading state={state}>
        {(list) => (
          <>
            {list.length === 0 ? <p class="muted">{text.panel.noProducts}</p> : <Branch h={h} nodes={tree(list, hidden)} />}
            <AddProduct h={h} />
            {anyHidden && (
              <label class="switch">
                <input type="checkbox" checked={hidden} onChange={(e) => setHidden(e.currentTarget.checked)} />
                <span>{text.product.showHidden}</span>
              </label>
            )}
          </>
        )}
      </Loading>
    </Section>
  );
}

function Branch({ h, nodes }: { h: Hazard; nodes: readonly Node[] }) {
  return (
    <ul class="tree">
      {nodes.map((n) => (
        <li key={n.product.product_ID}>
          <Leaf h={h} node={n} />
          <ProductTools h={h} p={n.product} />
        </li>
      ))}
    </ul>
  );
}

const iconOf: Record<Product["product_Type"], IconName> = { FOLDER_PRODUCT: "folder", FILE_PRODUCT: "file", TEXT_PRODUCT: "words", URL_PRODUCT: "outside" };

function Leaf({ h, node: { product: p, children } }: { h: Hazard; node: Node }) {
  const flags = (
    <>
      {p.security_Flag === "R" && (
        <span class="flag" title={text.product.restrictedLong}>
          <Icon name="lock" /> {text.product.restricted}
        </span>
      )}
      {p.is_Hidden === "Y" && <span class="flag">{text.product.hidden}</span>}
    </>
  );
  const head = (
    <>
      <Icon name={iconOf[p.product_Type] ?? "file"} />
      <span class="product-title" dir="auto">{p.title || p.filename || String(p.product_ID)}</span>
      {flags}
      <span class="muted age">
        <Ago at={Number(p.update_Date)} />
      </span>
    </>
  );
  switch (p.product_Type) {
    case "FOLDER_PRODUCT":
      return (
        <details open>
          <summary class="product">{head}</summary>
          {children.length > 0 ? <Branch h={h} nodes={children} /> : <p class="muted empty">{text.product.empty}</p>}
        </details>
      );
    case "TEXT_PRODUCT":
      return (
        <details>
          <summary class="product">{head}</summary>
          <div class="product-text">
            <Prose words={reflow(p.data ?? "")} />
          </div>
        </details>
      );
    case "URL_PRODUCT": {
      const link = webAddress(p.data);
      return link ? <a class="product" href={link} target="_blank" rel="noopener noreferrer" title={link}>{head}</a> : (
        <p class="product">
          {head} <span class="muted break">{p.data}</span>
        </p>
      );
    }
    default:
      return <FileProduct p={p} head={head} />;
  }
}

function FileProduct({ p, head }: { p: Product; head: preact.ComponentChildren }) {
  const { store } = usePage();
  const [state, setState] = useState<"" | "busy" | "failed">("");
  const name = p.filename ?? p.title;
  async function download() {
    setState("busy");
    try {
      save(await store.api.file(p.product_ID), name);
      setState("");
    } catch {
      setState("failed");
      store.say(text.product.failed);
    }
  }
  return (
    <>
      <button type="button" class="product" disabled={state === "busy"} title={name} onClick={() => void download()}>
        {head}
        <span class="download">
          <Icon name="download" />
          <span class="sr">{text.product.download}</span>
        </span>
      </button>
      {state === "busy" && <p class="muted empty">{text.product.downloading}</p>}
      {state === "failed" && <p class="warn-text empty">{text.product.failed}</p>}
    </>
  );
}

/** Hands a file to the browser as a download. It came with our token, which a link could not send. */
function save(content: Blob, name: string): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(content);
  a.download = name;
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

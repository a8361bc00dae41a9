// What is chosen among the hazards.
import { useComputed } from "@preact/signals";
import { counts, isFiltering, noFilter, toggled } from "../filter";
import { categories, categoryName, severities, typeName, types } from "../model";
import { text } from "../text";
import { usePage } from "./context";
import { Icon, Menu, SeverityMark } from "./parts";

export function Filters() {
  const { store } = usePage();
  const f = store.filter.value;
  const bySeverity = useComputed(() => counts(store.shown.value.values(), store.filter.value, "severities"));
  return (
    <div class="filters" role="search" aria-label={text.filter.title}>
      <label class="search">
        <Icon name="search" />
        <span class="sr">{text.filter.search}</span>
        <input
          id="search"
          type="search"
          value={f.text}
          placeholder={text.filter.search}
          onInput={(e) => store.setFilter({ text: e.currentTarget.value })}
          onKeyDown={(e) => {
            if (e.key === "Escape" && f.text) {
              e.stopPropagation();
              store.setFilter({ text: "" });
            }
          }}
        />
      </label>
      <div class="chips" role="group" aria-label={text.filter.severity}>
        {[...severities].reverse().map((s) => {
          const n = bySeverity.value.get(s.id) ?? 0;
          return (
            <button
              type="button"
              key={s.id}
              class={`chip sev-${s.id}`}
              aria-pressed={f.severities.includes(s.id)}
              title={s.name}
              onClick={() => store.setFilter({ severities: toggled(f.severities, s.id) })}
            >
              <span class="chip-mark"><SeverityMark id={s.id} /></span>
              <span class="chip-n">{n.toLocaleString("en")}</span> <span class="chip-name">{s.code}</span>
              <span class="sr">{s.name}</span>
            </button>
          );
        })}
      </div>
      <div class="filter-row">
        <Choices of="types" all={types} />
        <Choices of="categories" all={categories} />
        {isFiltering(f) && (
          <button type="button" class="quiet clear" onClick={() => (store.filter.value = noFilter)}>
            {text.filter.clear}
          </button>
        )}
      </div>
    </div>
  );
}

function Choices({ of, all }: { of: "types" | "categories"; all: readonly { readonly id: string; readonly name: string }[] }) {
  const { store } = usePage();
  const f = store.filter.value;
  const chosen = f[of];
  const name = of === "types" ? typeName : categoryName;
  const label = of === "types" ? text.filter.type : text.filter.category;
  const words =
    chosen.length === 0 ? (of === "types" ? text.filter.anyType : text.filter.anyCategory) : chosen.length === 1 ? name(chosen[0]!) : of === "types" ? text.filter.types(chosen.length) : text.filter.categories(chosen.length);
  return (
    <Menu class={`choices ${chosen.length ? "on" : ""}`} label={label} button={<><span>{words}</span><Icon name="down" /></>}>
      <ChoiceList of={of} all={all} label={label} />
    </Menu>
  );
}

function ChoiceList({ of, all, label }: { of: "types" | "categories"; all: readonly { readonly id: string; readonly name: string }[]; label: string }) {
  const { store } = usePage();
  const f = store.filter.value;
  const n = counts(store.shown.value.values(), f, of);
  const shown = all.filter((x) => of === "categories" || n.get(x.id) || f[of].includes(x.id));
  return (
    <fieldset class="choice-list">
      <legend>{label}</legend>
      {shown.length === 0 && <p class="muted">{text.filter.none}</p>}
      {shown.map((x) => (
        <label key={x.id}>
          <input type="checkbox" checked={f[of].includes(x.id)} onChange={() => store.setFilter({ [of]: toggled(f[of], x.id) })} />
          <span>{x.name}</span>
          <span class="muted n">{(n.get(x.id) ?? 0).toLocaleString("en")}</span>
        </label>
      ))}
    </fieldset>
  );
}

// What is chosen among the hazards.
import { useComputed } from "@preact/signals";
import { counts, isFiltering, noFilter, toggled } from "../filter";
import { byName, categories, categoryName, severities, severityCode, severityName, typeName, types } from "../model";
import { number, text } from "../words";
import { usePage } from "./context";
import { Icon, Menu, SeverityMark } from "./parts";

export function Filters() {
  const { store } = usePage();
  const f = store.filter.value;
  const past = store.past.value;
  // What could not be read must not look like "there is none".
  const known = past ? past.state !== "failed" && !past.unrecorded : store.loaded.value;
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
              title={severityName(s)}
              onClick={() => store.setFilter({ severities: toggled(f.severities, s.id) })}
            >
              <span class="chip-mark">
                <SeverityMark id={s.id} />
              </span>
              <span class="chip-n">{known ? number(n) : "?"}</span> <span class="chip-name" aria-hidden="true">{severityCode(s)}</span>
              <span class="sr">{severityName(s)}</span>
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

function Choices({ of, all }: { of: "types" | "categories"; all: readonly string[] }) {
  const { store } = usePage();
  const f = store.filter.value;
  const chosen = f[of];
  const name = of === "types" ? typeName : categoryName;
  const label = of === "types" ? text.filter.type : text.filter.category;
  const words = chosen.length === 0
    ? (of === "types" ? text.filter.anyType : text.filter.anyCategory)
    : chosen.length === 1
    ? name(chosen[0]!)
    : of === "types"
    ? text.filter.types({ n: chosen.length })
    : text.filter.categories({ n: chosen.length });
  return (
    <Menu
      class={`choices ${chosen.length ? "on" : ""}`}
      label={label}
      button={
        <>
          <span>{words}</span>
          <Icon name="down" />
        </>
      }
    >
      <ChoiceList of={of} all={all} label={label} />
    </Menu>
  );
}

function ChoiceList({ of, all, label }: { of: "types" | "categories"; all: readonly string[]; label: string }) {
  const { store } = usePage();
  const f = store.filter.value;
  const n = counts(store.shown.value.values(), f, of);
  const name = of === "types" ? typeName : categoryName;
  const some = all.filter((id) => of === "categories" || n.get(id) || f[of].includes(id));
  const shown = of === "types" ? byName(some, name) : some;
  return (
    <fieldset class="choice-list">
      <legend>{label}</legend>
      {shown.length === 0 && <p class="muted">{text.filter.none}</p>}
      {shown.map((id) => (
        <label key={id}>
          <input type="checkbox" checked={f[of].includes(id)} onChange={() => store.setFilter({ [of]: toggled(f[of], id) })} />
          <span>{name(id)}</span>
          <span class="muted n">{number(n.get(id) ?? 0)}</span>
        </label>
      ))}
    </fieldset>
  );
}

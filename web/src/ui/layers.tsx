// In the legend: which of the operator's layers the map shows.
import { chooseLayers, operatorLayers } from "../layers";
import { assets } from "../words";
import { usePage } from "./context";

export function LayerChoice() {
  const page = usePage();
  const shown = page.layers.value;
  const choose = (name: string, on: boolean) => {
    page.layers.value = on ? [...shown, name] : shown.filter((n) => n !== name);
    chooseLayers(page.layers.value);
    page.moving.value = true; // the picture does not show them
  };
  return (
    <section class="layer-choice" aria-labelledby="layer-choice">
      <h3 id="layer-choice">{assets.layers}</h3>
      <ul>
        {operatorLayers().map((l) => (
          <li key={l.name}>
            <label>
              <input type="checkbox" checked={shown.includes(l.name)} onChange={(e) => choose(l.name, e.currentTarget.checked)} /> <span dir="auto">{l.title}</span>
            </label>
          </li>
        ))}
      </ul>
    </section>
  );
}

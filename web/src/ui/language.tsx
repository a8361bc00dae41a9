// The choice of the language, and of the zone in which times are shown.
import { useState } from "preact/hooks";
import { best, choose, language, languages, text, wish } from "../words";
import { chooseZone, zone, zones, type Zone } from "../time";

/** In the menu and before the login. Each language has its own name for itself. */
export function LanguageChoice() {
  const [failed, setFailed] = useState(false);
  const change = (id: string | undefined) => {
    setFailed(false);
    choose(id).catch(() => setFailed(true));
  };
  return (
    <div class="language">
      <label>
        <span>{text.header.language}</span>
        <select value={wish.value ?? ""} onChange={(e) => change(e.currentTarget.value || undefined)}>
          <option value="">{text.language.browser({ name: best(navigator.languages).name })}</option>
          {languages.map((l) => <option key={l.id} value={l.id} lang={l.id} dir={l.dir}>{l.name}</option>)}
        </select>
      </label>
      {!language().checked && <p class="hint">{text.language.unchecked}</p>}
      {failed && <p class="warn-text" role="alert">{text.panel.failed}</p>}
    </div>
  );
}

export function ZoneChoice() {
  const [failed, setFailed] = useState(false);
  const change = (z: Zone) => {
    setFailed(false);
    chooseZone(z).catch(() => setFailed(true));
  };
  return (
    <div class="language">
      <label>
        <span>{text.header.zone}</span>
        <select value={zone.value} onChange={(e) => change(e.currentTarget.value as Zone)}>
          {zones.map((z) => <option key={z} value={z}>{text.zone[z]}</option>)}
        </select>
      </label>
      {failed && <p class="warn-text" role="alert">{text.panel.failed}</p>}
    </div>
  );
}

// The reader's choices on this device: notifications, and whether to store the last view.
import { useState } from "preact/hooks";
import { Dialog } from "../edit/inputs";
import { canKeep } from "../offline";
import { forgetAll, keepFiles } from "../worker";
import { text } from "../words";
import { usePage } from "./context";

export function AttentionChoices({ close }: { close: () => void }) {
  const { attention } = usePage();
  const chosen = attention.choices.value;
  const [note, setNote] = useState("");
  async function notify(on: boolean) {
    setNote("");
    if (on && (await Notification.requestPermission()) !== "granted") return setNote(text.attention.refused);
    attention.choose({ notify: on });
  }
  async function offline(on: boolean) {
    setNote("");
    attention.choose({ offline: on });
    try {
      await (on ? keepFiles() : forgetAll());
      if (on) setNote(text.attention.kept);
    } catch {
      attention.choose({ offline: false });
      setNote(text.attention.notKept);
    }
  }
  const can = { sound: "AudioContext" in globalThis, notify: "Notification" in globalThis && globalThis.isSecureContext, offline: canKeep() };
  const set = { sound: (on: boolean) => attention.choose({ sound: on }), notify, offline };
  return (
    <Dialog title={text.attention.title} close={close}>
      <p>{text.attention.always}</p>
      {(["sound", "notify", "offline"] as const).map((name) => (
        <label key={name} class="choice">
          <input type="checkbox" checked={chosen[name]} disabled={!can[name]} onChange={(e) => void set[name](e.currentTarget.checked)} />
          <span>
            <strong>{text.attention[name]}</strong>
            <span class="muted">{can[name] ? text.attention.long[name] : text.attention.cannot}</span>
          </span>
        </label>
      ))}
      <p role="status">{note}</p>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{text.close}</button>
      </div>
    </Dialog>
  );
}

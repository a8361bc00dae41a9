// What the reader chooses on this device: how to be told, and whether the last view stays.
import { useState } from "preact/hooks";
import { Dialog } from "../edit/inputs";
import { canKeep, forgetAll, keepFiles } from "../offline";
import { text } from "../text";
import { usePage } from "./context";

const words = text.attention;

export function AttentionChoices({ close }: { close: () => void }) {
  const { attention } = usePage();
  const chosen = attention.choices.value;
  const [note, setNote] = useState("");
  async function notify(on: boolean) {
    setNote("");
    if (on && (await Notification.requestPermission()) !== "granted") return setNote(words.refused);
    attention.choose({ notify: on });
  }
  async function offline(on: boolean) {
    setNote("");
    attention.choose({ offline: on });
    try {
      await (on ? keepFiles() : forgetAll());
      if (on) setNote(words.kept);
    } catch {
      attention.choose({ offline: false });
      setNote(words.notKept);
    }
  }
  const can = { sound: "AudioContext" in globalThis, notify: "Notification" in globalThis && globalThis.isSecureContext, offline: canKeep() };
  const set = { sound: (on: boolean) => attention.choose({ sound: on }), notify, offline };
  return (
    <Dialog title={words.title} close={close}>
      <p>{words.always}</p>
      {(["sound", "notify", "offline"] as const).map((name) => (
        <label key={name} class="choice">
          <input type="checkbox" checked={chosen[name]} disabled={!can[name]} onChange={(e) => void set[name](e.currentTarget.checked)} />
          <span>
            <strong>{words[name]}</strong>
            <span class="muted">{can[name] ? words.long[name] : words.cannot}</span>
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

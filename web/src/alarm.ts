// What catches the eye and the ear of a reader who does not look at the page: a count on the tab's
// icon, and two tones. It is loaded when the page is there.
let audio: AudioContext | undefined;

/** Two tones, as short as they can be and be noticed. */
export function sound(): void {
  try {
    audio ??= new AudioContext();
    void audio.resume();
    for (const [i, hertz] of [880, 660].entries()) {
      const [tone, level, at] = [audio.createOscillator(), audio.createGain(), audio.currentTime + i * 0.22];
      tone.frequency.value = hertz;
      level.gain.setValueAtTime(0.0001, at);
      level.gain.exponentialRampToValueAtTime(0.3, at + 0.02);
      level.gain.exponentialRampToValueAtTime(0.0001, at + 0.2);
      tone.connect(level).connect(audio.destination);
      tone.start(at);
      tone.stop(at + 0.21);
    }
  } catch {
    // A machine without sound.
  }
}

let plain: string | undefined;

/**
 * Shows a count on the icon of the tab, and on the app's icon if the page is installed; 0 removes
 * it. The color is that of its disc.
 */
export function icon(count: number, color: string): void {
  const app = navigator as Navigator & { setAppBadge?: (n: number) => Promise<void>; clearAppBadge?: () => Promise<void> };
  void (count > 0 ? app.setAppBadge?.(count) : app.clearAppBadge?.())?.catch(() => {});
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (!link) return;
  plain ??= link.href;
  if (count === 0) {
    if (link.href !== plain) link.href = plain;
    return;
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  // In memory: from a graphics card that draws the map the picture would come after its work, up to a
  // second after each warning, and the row of the warning after that.
  const c = canvas.getContext("2d", { willReadFrequently: true });
  if (!c) return;
  const disc = (radius: number, colour: string) => {
    c.beginPath();
    c.arc(32, 32, radius, 0, 2 * Math.PI);
    c.fillStyle = colour;
    c.fill();
  };
  disc(31, color);
  disc(26, "#0f1720");
  c.fillStyle = "#ffffff";
  c.font = `700 ${count > 9 ? 30 : 40}px system-ui, sans-serif`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(count > 99 ? "99+" : String(count), 32, 34, 46);
  link.href = canvas.toDataURL("image/png");
}

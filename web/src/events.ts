// The stream of events of the service: text/event-stream as the HTML standard has it (section 9.2.6), read from a body of fetch, since EventSource
// cannot send a token.

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  /** The last id of the stream so far; empty before the first. */
  readonly id: string;
}

/** Reads a stream piece by piece. Pieces may end anywhere, in the middle of a line too. */
export class EventParser {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id = "";
  #first = true;

  /** The events that are whole with this piece. */
  push(piece: string): ServerEvent[] {
    this.#rest += piece;
    if (this.#first && this.#rest.length > 0) {
      this.#rest = this.#rest.replace(/^\uFEFF/, "");
      this.#first = false;
    }
    const out: ServerEvent[] = [];
    for (;;) {
      const end = this.#rest.search(/[\r\n]/);
      // A carriage return at the very end may be the half of a line's end.
      if (end < 0 || (this.#rest[end] === "\r" && end === this.#rest.length - 1)) return out;
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + (this.#rest.startsWith("\r\n", end) ? 2 : 1));
      const event = this.#line(line);
      if (event) out.push(event);
    }
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") {
      const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
      const said = this.#data.length > 0;
      this.#event = "";
      this.#data = [];
      return said ? event : undefined;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: a sign of life
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return;
  }
}

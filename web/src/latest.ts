// Which of two records of a hazard is the later. Records come by lists, the stream, re-reads and the
// answers of saves, and these overtake each other: what came last is not what happened last.

/** Knows as of which change each hazard is known. Without a number, what comes last counts. */
export class Latest {
  /** Of all hazards that #of does not name. */
  #list = -1;
  readonly #of = new Map<number, number>();

  /** Whether a record as of that change is no older than what is known. It is known from then on. */
  takes(id: number, asOf: number | undefined): boolean {
    if (asOf === undefined) return true;
    if (asOf < this.#at(id)) return false;
    this.#of.set(id, asOf);
    return true;
  }

  /**
   * The same for a list of all hazards. The answer says whose record in the list is the latest, or
   * whose absence; undefined: the list is older than the one before.
   */
  takesAll(asOf: number | undefined): ((id: number) => boolean) | undefined {
    if (asOf === undefined) return () => true;
    if (asOf < this.#list) return undefined;
    this.#list = asOf;
    for (const [id, at] of this.#of) if (at <= asOf) this.#of.delete(id);
    return (id) => !this.#of.has(id);
  }

  /** The server has another history now: its numbers begin anew. */
  forget(): void {
    this.#list = -1;
    this.#of.clear();
  }

  #at(id: number): number {
    return this.#of.get(id) ?? this.#list;
  }
}

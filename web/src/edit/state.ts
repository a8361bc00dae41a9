// The present task of an editor, one at a time. Inputs that must survive the page's components, or
// an expired login, are stored in the tab's session storage for the same user, until they are saved
// or discarded.
import { batch, computed, signal } from "@preact/signals";
import type { Feature, Geometry } from "geojson";
import type { Change, Hazard, Product, Report } from "../model";
import type { Store } from "../store";
import type { Drafts } from "./pending";

export type Task =
  | { readonly kind: "new"; readonly drill: boolean; readonly uuid: string }
  | { readonly kind: "edit"; readonly h: Hazard }
  | { readonly kind: "product"; readonly h: Hazard; readonly type: Product["product_Type"]; readonly parent: number; readonly product: Product | undefined; readonly uuid: string };

export type Question =
  | { readonly kind: "end" | "response" | "retract"; readonly h: Hazard }
  | { readonly kind: "merge"; readonly h: Hazard }
  | { readonly kind: "remove"; readonly h: Hazard; readonly product: Product }
  | { readonly kind: "split"; readonly h: Hazard; readonly report: Report }
  | { readonly kind: "undo"; readonly h: Hazard; readonly change: Change; readonly undo: "merge" | "end" | "retract" };

/** What a click on the map means while something is drawn. */
export type Placing = "place" | "corner" | "rim";

const KEY = "hazardd.draft/"; // and the user

interface Kept {
  readonly user: string;
  readonly task: Task;
  readonly form: unknown;
}

export class Editing {
  /** The open form, instead of the panel. */
  readonly task = signal<Task | undefined>(undefined);
  /** What is asked before something is done that cannot be undone. */
  readonly question = signal<Question | undefined>(undefined);
  readonly placing = signal<Placing | undefined>(undefined);
  /** What we have merged since the page was opened, by the number of the hazard that took over. */
  readonly merged = signal<ReadonlyMap<number, Hazard>>(new Map());
  /** Shown on the map: the hazard's place and area as the form has them. */
  readonly drawn = signal<readonly Feature[]>([]);
  /** Whether closing the form would lose input, and whether the form asks about that. */
  readonly dirty = signal(false);
  readonly leaving = signal(false);
  /** What waits for a second person, once an editor is logged in and its code has come. */
  readonly drafts = signal<Drafts | undefined>(undefined);
  readonly allowed = computed(() => this.store.past.value === undefined && this.store.api.user !== undefined && this.store.api.user.role !== "reader");

  constructor(private readonly store: Store) {
    // Of another user, or before a login, it stays where it is: only saving, discarding or a confirmed logout deletes it.
    const kept = read(store.api.user?.name);
    if (kept) this.task.value = kept.task;
  }

  /**
   * Whether the user may change a hazard: an editor those of the own organizations and of no
   * organization, an admin all.
   */
  may(h: Pick<Hazard, "org_ID">): boolean {
    const user = this.store.api.user;
    return this.allowed.value && (user?.role === "admin" || h.org_ID === -1 || (user?.orgs ?? []).includes(h.org_ID));
  }

  start(task: Task): void {
    batch(() => {
      this.#forget();
      this.question.value = undefined;
      this.dirty.value = false;
      this.leaving.value = false;
      this.task.value = task;
    });
  }

  /** Closes the form. */
  end(): void {
    this.#forget();
    batch(() => {
      this.task.value = undefined;
      this.leaving.value = false;
      this.dirty.value = false;
      this.clear();
    });
  }

  /** Closes the form if nothing is lost by that, and asks if something is. */
  leave(): void {
    if (this.dirty.peek()) this.leaving.value = true;
    else this.end();
  }

  /** Removes the drawing from the map. */
  clear(): void {
    this.placing.value = undefined;
    this.drawn.value = [];
  }

  draw(shapes: readonly Geometry[]): void {
    this.drawn.value = shapes.map((geometry) => ({ type: "Feature", geometry, properties: {} }));
  }

  /** What the form of this task had when it was left without an end. */
  restore<F>(): F | undefined {
    return read(this.store.api.user?.name)?.form as F | undefined;
  }

  /** Discards the stored input. */
  #forget(): void {
    try {
      sessionStorage.removeItem(KEY + this.store.api.user?.name);
    } catch {
      // There was none.
    }
  }

  keep(form: unknown): void {
    const task = this.task.peek();
    const user = this.store.api.user?.name;
    if (!task || !user) return;
    try {
      sessionStorage.setItem(KEY + user, JSON.stringify({ user, task, form } satisfies Kept));
    } catch {
      // No storage: the form lives as long as the page.
    }
  }
}

function read(user: string | undefined): Kept | undefined {
  if (user === undefined) return undefined;
  try {
    return (JSON.parse(sessionStorage.getItem(KEY + user) ?? "null") as Kept | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** A UUID of version 4: crypto.randomUUID is there only with https. */
export function randomUUID(): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const hex = [...b].map((x) => x.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

// The products of a hazard as the tree that parent_ID makes of them.
import type { Product } from "./model";

export interface Node {
  readonly product: Product;
  readonly children: readonly Node[];
}

/**
 * The roots. Products come in the order of the list; one whose parent is not in it, or that would be its own ancestor, is a root: nothing
 * that the server lists may be lost. Hidden ones are left out unless asked for, what is in a hidden folder too.
 */
export function tree(products: readonly Product[], hidden = false): readonly Node[] {
  const byId = new Map(products.map((p) => [p.product_ID, p]));
  const parentOf = (p: Product): Product | undefined => byId.get(p.parent_ID);
  const isHidden = (p: Product): boolean => {
    for (const seen = new Set<Product>(); p && !seen.has(p); p = parentOf(p)!) {
      if (p.is_Hidden === "Y") return true;
      seen.add(p);
    }
    return false;
  };
  const inLoop = (p: Product): boolean => {
    const seen = new Set<Product>();
    for (let above = parentOf(p); above && !seen.has(above); above = parentOf(above)) {
      if (above === p) return true;
      seen.add(above);
    }
    return false;
  };
  const children = new Map<number, Product[]>();
  const roots: Product[] = [];
  for (const p of products) {
    if (!hidden && isHidden(p)) continue;
    if (!parentOf(p) || inLoop(p)) roots.push(p);
    else children.set(p.parent_ID, [...(children.get(p.parent_ID) ?? []), p]);
  }
  const grow = (p: Product): Node => ({ product: p, children: (children.get(p.product_ID) ?? []).map(grow) });
  return roots.map(grow);
}

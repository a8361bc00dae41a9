// The products of a hazard as a tree by parent_ID.
import type { Product } from "./model";

export interface Node {
  readonly product: Product;
  readonly children: readonly Node[];
}

/**
 * Returns the roots. Products keep the order of the list. A product without its parent in the list,
 * or in a cycle, becomes a root, so that nothing is lost. Hidden products, and those in hidden
 * folders, are left out unless requested.
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

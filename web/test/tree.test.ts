import { describe, expect, test } from "vitest";
import type { Product } from "../src/model";
import { tree, type Node } from "../src/tree";

const product = (product_ID: number, parent_ID = 0, is_Hidden: "Y" | "N" = "N") => ({ product_ID, parent_ID, is_Hidden, title: String(product_ID) }) as Product;
const shape = (nodes: readonly Node[]): unknown[] => nodes.map((n) => (n.children.length ? [n.product.product_ID, shape(n.children)] : n.product.product_ID));

describe("the products as a tree", () => {
  test.each([
    ["keep the order of the list", [product(2), product(1)], [2, 1]],
    ["stand in their folders, however deep", [product(1), product(2, 1), product(3, 2), product(4)], [[1, [[2, [3]]]], 4]],
    ["may come before their folder", [product(2, 1), product(1)], [[1, [2]]]],
    ["whose folder nobody sees are roots", [product(2, 99)], [2]],
    ["that are their own folder are roots", [product(1, 1)], [1]],
    ["in a circle are not lost", [product(1, 2), product(2, 1), product(3, 1)], [[1, [3]], 2]],
    ["that are hidden are left out, with what is in them", [product(1, 0, "Y"), product(2, 1), product(3)], [3]],
  ])("%s", (_, list, want) => expect(shape(tree(list))).toEqual(want));

  test("hidden ones are there when asked for", () => expect(shape(tree([product(1, 0, "Y"), product(2, 1)], true))).toEqual([[1, [2]]]));
});

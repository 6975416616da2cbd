// The icicle follows the figures of the table: the same drawing as the daemon's (icicle.go), laid out anew by d3-hierarchy.
import { partition, stratify } from "d3-hierarchy";

import { colourOf } from "./part";

interface Share { id: string; parent: string; width: number; colour: string; }

function sharesOf(pool: string): Share[] {
  const rows = document.querySelectorAll<HTMLElement>(`table.tree[data-pool="${CSS.escape(pool)}"] tbody tr`);
  return [...rows].map((row) => {
    const [target, , width] = (row.dataset.x ?? "0 0").split(" ").map(Number);
    return { id: row.dataset.id!, parent: row.dataset.parent === "0" ? "root" : row.dataset.parent!, width: width ?? target,
      colour: colourOf(row.querySelector(".part")?.textContent ?? "") };
  });
}

function draw(): void {
  for (const figure of document.querySelectorAll<HTMLElement>("figure.icicle")) {
    const shares = sharesOf(figure.dataset.pool!);
    if (shares.length === 0) continue;
    const root = stratify<Share>().id((s) => s.id).parentId((s) => (s.id === "root" ? undefined : s.parent))(
      [{ id: "root", parent: "", width: 0, colour: "off" }, ...shares]);
    // A branch is as wide as its own target says (its weight, where no share has a target); what its children leave of it is its own.
    root.eachAfter((n: any) => {
      const below = (n.children ?? []).reduce((sum: number, c: any) => sum + c.value, 0);
      n.value = n.id === "root" ? below : Math.max(n.data.width, below);
    });
    const placed = partition<Share>().size([100, root.height + 1])(root as any);
    const at = new Map(placed.descendants().map((n: any) => [n.id as string, n]));
    for (const slab of figure.querySelectorAll<SVGElement>(".slab")) {
      const n: any = at.get(slab.dataset.id!);
      if (!n) continue;
      slab.setAttribute("x", n.x0.toFixed(3) + "%");
      slab.setAttribute("width", Math.max(0, n.x1 - n.x0).toFixed(3) + "%");
      if (slab instanceof SVGRectElement) slab.setAttribute("class", "slab " + n.data.colour); // too narrow for a frame and a name
      else slab.querySelector("rect")?.setAttribute("class", "fill " + n.data.colour);
    }
  }
}

export function icicle(): void {
  document.addEventListener("divvy:cells", draw);
}

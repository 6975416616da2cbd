// A table of role treegrid: branches that close, arrow keys, one row in the tab order (ARIA's treegrid pattern).

const said = new Map<string, boolean>(); // by id of a row, whether it was opened or closed by hand; kept when the HTML is put anew

const rowsOf = (table: Element) => [...table.querySelectorAll<HTMLTableRowElement>("tbody > tr")];
const level = (row: Element) => Number(row.getAttribute("aria-level"));

// show hides what is below closed rows.
function show(table: Element): void {
  let below = Infinity; // of a closed row at this level
  for (const row of rowsOf(table)) {
    const l = level(row);
    if (l <= below) below = Infinity;
    const hide = l > below || row.dataset.rest !== undefined;
    if (row.hidden !== hide) row.hidden = hide;
    const is = row.getAttribute("aria-expanded");
    if (is === null) continue;
    const open = said.get(row.id) ?? is === "true";
    if (String(open) !== is) row.setAttribute("aria-expanded", String(open));
    if (!open && l < below) below = l;
  }
}

function setOpen(row: HTMLElement, open: boolean): void {
  said.set(row.id, open);
  show(row.closest("table")!);
}

function focus(row: HTMLElement | undefined, from: HTMLElement): void {
  if (!row) return;
  from.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
}

function key(e: KeyboardEvent): void {
  const row = e.target as HTMLTableRowElement;
  if (row.tagName !== "TR" || e.altKey || e.ctrlKey || e.metaKey) return;
  const all = rowsOf(row.closest("table")!).filter((r) => !r.hidden);
  const at = all.indexOf(row);
  const open = row.getAttribute("aria-expanded");
  switch (e.key) {
    case "ArrowDown": focus(all[at + 1], row); break;
    case "ArrowUp": focus(all[at - 1], row); break;
    case "Home": focus(all[0], row); break;
    case "End": focus(all[all.length - 1], row); break;
    case "ArrowRight":
      if (open === "false") setOpen(row, true);
      else if (open === "true") focus(all[at + 1], row);
      break;
    case "ArrowLeft":
      if (open === "true") setOpen(row, false);
      else focus(all.slice(0, at).reverse().find((r) => level(r) < level(row)), row);
      break;
    case "Enter": row.querySelector("a")?.click(); break;
    case " ": if (open !== null) setOpen(row, open === "false"); break;
    default: return;
  }
  e.preventDefault();
}

function grow(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table[role=treegrid]")) {
    rowsOf(table).forEach((row, i) => {
      row.tabIndex = i === 0 ? 0 : -1;
      const head = row.querySelector("th");
      if (!row.hasAttribute("aria-expanded") || !head || head.querySelector("button")) return;
      const twist = document.createElement("button");
      twist.type = "button";
      twist.className = "twist";
      twist.tabIndex = -1; // the row itself takes the keys
      twist.setAttribute("aria-hidden", "true");
      twist.addEventListener("click", () => setOpen(row, row.getAttribute("aria-expanded") === "false"));
      head.prepend(twist);
    });
    table.onkeydown = key;
    show(table);
  }
}

export function tree(): void {
  grow();
  document.addEventListener("divvy:html", grow);
}

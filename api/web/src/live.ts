// Events of the view: cells by their keys, or the element with the id "live" as a whole.

import { barOf } from "./part";

interface Message {
  at: string;
  shape?: string;
  cells?: Record<string, string>;
  html?: string;
  failed?: boolean;
}

// Attributes that a cell may change beside its text.
const changeable = /^(value|max|d|data-[a-z-]+|aria-[a-z-]+|class)$/;

let elements: Map<string, Element[]> | undefined; // by key; made at the first need, again after HTML has changed

function byKey(key: string): Element[] {
  if (!elements) {
    elements = new Map();
    for (const e of document.querySelectorAll("[data-live]")) {
      const k = e.getAttribute("data-live")!;
      const all = elements.get(k);
      if (all) all.push(e);
      else elements.set(k, [e]);
    }
  }
  return elements.get(key) ?? [];
}

const readyAt = 3; // of the cells behind a name

// putRow takes what scripts want to know of a row, and the texts of its last cells.
function putRow(row: HTMLTableRowElement, [x, ...texts]: string[]): void {
  row.dataset.x = x;
  if (row.dataset.rest !== undefined && (!/^0\.000 0\.000/.test(x) || texts[readyAt] !== "0")) {
    delete row.dataset.rest; // something goes on there now
    row.hidden = Number(row.getAttribute("aria-level")) > 1;
  }
  const first = row.cells.length - texts.length;
  texts.forEach((text, i) => {
    const cell = row.cells[first + i];
    if (cell.textContent === text) return;
    cell.textContent = text;
    if (cell.classList.contains("part")) cell.className = "part " + barOf(text);
  });
}

function put(key: string, text: string): void {
  for (const e of byKey(key)) {
    const attribute = e.getAttribute("data-live-attr");
    if (e.hasAttribute("data-live-row")) putRow(e as HTMLTableRowElement, text.split("\t"));
    else if (!attribute) e.textContent = text;
    else if (changeable.test(attribute)) e.setAttribute(attribute, text);
  }
}

// announce tells the other scripts of the page: "divvy:cells" after cells, "divvy:html" after HTML has changed.
function announce(name: string, detail?: unknown): void {
  document.dispatchEvent(new CustomEvent("divvy:" + name, { detail }));
}

// Elements that other scripts have put things into: these put them into new ones again.
const ofScripts = "[role=treegrid], .course, .icicle";

// become makes a node what another one is, and keeps it: what is clicked, focused, selected or scrolled stays so.
function become(is: Node, to: Node): void {
  if (is.nodeType !== to.nodeType || is.nodeName !== to.nodeName || (is instanceof Element && is.matches(ofScripts))) {
    is.parentNode!.replaceChild(to, is);
    return;
  }
  if (!(is instanceof Element)) {
    if (is.nodeValue !== to.nodeValue) is.nodeValue = to.nodeValue;
    return;
  }
  const into = to as Element;
  for (const { name } of [...is.attributes]) if (!into.hasAttribute(name) && name !== "open") is.removeAttribute(name);
  for (const { name, value } of [...into.attributes]) if (is.getAttribute(name) !== value && name !== "open") is.setAttribute(name, value);
  fill(is, [...into.childNodes]);
}

function fill(is: Element, to: Node[]): void {
  const now = [...is.childNodes];
  to.forEach((node, i) => (i < now.length ? become(now[i], node) : is.appendChild(node)));
  for (const node of now.slice(to.length)) node.remove();
}

// swap makes what an element has what the daemon sent. What the person has opened or written stays.
function swap(into: Element, from: Node[]): void {
  const focus = document.activeElement?.id;
  fill(into, from);
  if (focus && document.activeElement?.id !== focus) document.getElementById(focus)?.focus({ preventScroll: true });
  elements = undefined;
  announce("html");
}

// reload asks for the page's HTML again: rows came or went.
async function reload(shape: string): Promise<void> {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  const main = document.getElementById("main");
  if (!answer.ok || !main) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  if (!fresh) return;
  document.body.dataset.shape = page.body.dataset.shape ?? shape;
  swap(main, [...fresh.childNodes]);
}

let seen = performance.now(); // when the figures came, by this browser's clock

function age(): void {
  const p = document.getElementById("age");
  if (!p) return;
  const s = Math.round((performance.now() - seen) / 1000) + Number(p.dataset.age ?? 0);
  const ago = p.querySelector(".ago");
  if (ago && ago.textContent !== s + " s") ago.textContent = s + " s";
  p.classList.toggle("stale", document.body.dataset.of !== undefined && s > 10);
}

function dated(at: string): void {
  const p = document.getElementById("age");
  const time = p?.querySelector("time");
  if (!p || !time) return;
  seen = performance.now();
  p.dataset.age = "0";
  time.dateTime = at;
  time.textContent = new Date(at).toISOString().slice(11, 19);
  age();
}

function take(m: Message): void {
  if (m.failed) return; // what is there gets older, and says so
  dated(m.at);
  if (m.shape !== undefined && m.shape !== document.body.dataset.shape) {
    document.body.dataset.shape = m.shape;
    void reload(m.shape);
    return;
  }
  if (m.html) {
    const box = document.getElementById("live");
    if (box) {
      const parsed = new DOMParser().parseFromString(m.html, "text/html");
      swap(box, [...parsed.body.childNodes]);
    }
  }
  if (m.cells) {
    for (const [key, text] of Object.entries(m.cells)) put(key, text);
    announce("cells", m.cells);
  }
}

export function live(): void {
  setInterval(age, 1000);
  const of = document.body.dataset.of;
  if (!of) return;
  let source: EventSource | undefined;
  const listen = () => {
    source = new EventSource("/events?of=" + encodeURIComponent(of));
    source.addEventListener("update", (e) => take(JSON.parse((e as MessageEvent<string>).data)));
  };
  // A browser keeps six connections to a host: pages that nobody looks at give theirs back.
  const look = () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
    } else if (!source) {
      listen();
    }
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", () => source?.close());
  look();
}

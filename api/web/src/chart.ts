// The course of a share: held against target, from the samples that the daemon keeps, with what the page learns since.
import uPlot from "uplot";

interface Point { at: string; target: number; held: number; ready: number; }
interface Series { span: string; pools: { pool: string; share_id: number; points: Point[] }[]; }
interface Drawn { plot: uPlot; pool: string; share: number; columns: number[][]; span: string; }

const lengths: Record<string, number> = { hour: 3600, day: 86400, week: 604800 };
let drawn: Drawn[] = [];
let series: Series | undefined;

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// tick is a moment of the time axis, in UTC: a day, or a time as exact as ticks are near each other.
function tick(seconds: number, apart: number): string {
  const iso = new Date(seconds * 1e3).toISOString();
  if (apart >= 86400 || seconds % 86400 === 0) return iso.slice(5, 10);
  return apart >= 60 ? iso.slice(11, 16) : iso.slice(11, 19);
}

function options(title: string, width: number): uPlot.Options {
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  return {
    title, width, height: 240,
    tzDate: (ts: number) => uPlot.tzDate(new Date(ts * 1e3), "Etc/UTC"),
    scales: { y: { range: (_u: uPlot, _min: number, max: number) => [0, Math.max(1, max * 1.1)] } },
    axes: [{ ...axis, space: 84, values: (_u: uPlot, ticks: number[], _axis: number, _space: number, apart: number) => ticks.map((t) => tick(t, apart)) }, { ...axis, size: 60 }],
    series: [
      { value: (_u: uPlot, t: number | null) => (t === null ? "–" : new Date(t * 1e3).toISOString().slice(0, 19).replace("T", " ") + " UTC") },
      { label: "held", stroke: colour("--a"), width: 2, fill: colour("--a") + "22" },
      { label: "target", stroke: colour("--b"), width: 2, dash: [6, 4] },
    ],
  };
}

function draw(into: HTMLElement): void {
  for (const d of drawn) d.plot.destroy();
  into.replaceChildren();
  drawn = [];
  if (!series) return;
  for (const p of series.pools) {
    const box = document.createElement("div");
    box.className = "chart";
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `Held and target in pool ${p.pool}, last ${series.span}; as a table behind the links above`);
    into.append(box);
    const columns = [p.points.map((x) => Date.parse(x.at) / 1000), p.points.map((x) => x.held), p.points.map((x) => x.target)];
    const plot = new uPlot(options("Pool " + p.pool + ", units", into.clientWidth), columns as uPlot.AlignedData, box);
    drawn.push({ plot, pool: p.pool, share: p.share_id, columns, span: series.span });
  }
}

// follow adds what the page has just learnt, and forgets what is older than the span.
function follow(): void {
  const at = Date.parse(document.querySelector<HTMLTimeElement>("#age time")?.dateTime ?? "") / 1000;
  if (!at) return;
  for (const d of drawn) {
    const x = document.getElementById(d.pool + "." + d.share)?.dataset.x?.split(" ").map(Number);
    if (!x || at <= (d.columns[0].at(-1) ?? 0)) continue;
    d.columns[0].push(at);
    d.columns[1].push(x[1]);
    d.columns[2].push(x[0]);
    while (d.columns[0][0] < at - lengths[d.span]) for (const c of d.columns) c.shift();
    d.plot.setData(d.columns as uPlot.AlignedData);
  }
}

async function show(section: HTMLElement, span: string): Promise<void> {
  for (const a of section.querySelectorAll<HTMLElement>("[data-span]")) {
    if (a.dataset.span === span) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  }
  const answer = await fetch(section.dataset.link + "?format=json&span=" + span);
  if (!answer.ok) return;
  series = (await answer.json()) as Series;
  draw(section.querySelector<HTMLElement>(".charts")!);
}

function start(): void {
  const section = document.querySelector<HTMLElement>("section.course");
  if (!section) return;
  for (const a of section.querySelectorAll<HTMLAnchorElement>("[data-span]")) {
    a.onclick = (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return; // the table, elsewhere
      e.preventDefault();
      void show(section, a.dataset.span!);
    };
  }
  void show(section, series?.span ?? "hour");
}

export function chart(): void {
  start();
  document.addEventListener("divvy:html", start);
  document.addEventListener("divvy:cells", follow);
  let width = innerWidth;
  addEventListener("resize", () => {
    const box = document.querySelector<HTMLElement>(".charts");
    if (!box || innerWidth === width) return;
    width = innerWidth;
    for (const d of drawn) d.plot.setSize({ width: box.clientWidth, height: 240 });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    const box = document.querySelector<HTMLElement>(".charts");
    if (box) draw(box);
  });
}

// What of its target a share holds, by the text of its cell: bar and colour as the daemon makes them of the same figure (part.go).

// percent is the whole number that a text says; -1: there is no target, Infinity: it is held without one.
function percent(text: string): number {
  if (text === "–") return -1;
  return text === "∞" ? Infinity : parseInt(text.replace(/[^0-9]/g, ""), 10) || 0;
}

export function barOf(text: string): string {
  const p = percent(text);
  return p > 110 ? "p20 over" : "p" + Math.floor((Math.min(100, Math.max(0, p)) + 2) / 5);
}

export function colourOf(text: string): string {
  const p = percent(text);
  if (p < 0) return "off";
  return p > 110 ? "over" : "h" + Math.floor(Math.min(100, p) / 10);
}

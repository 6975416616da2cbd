//go:build browser

package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/browser"
)

// faint lists texts that stand out too little from what they are written on (WCAG AA: 4.5, large ones 3), by the colours that the
// browser has computed.
const faint = `(() => {
  const c = document.createElement("canvas"); c.width = c.height = 1;
  const x = c.getContext("2d", {willReadFrequently: true}), memo = new Map();
  const rgba = col => {
    if (!memo.has(col)) { x.clearRect(0, 0, 1, 1); x.fillStyle = col; x.fillRect(0, 0, 1, 1); memo.set(col, [...x.getImageData(0, 0, 1, 1).data]); }
    return memo.get(col);
  };
  const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] / 255 + b[i] * (1 - a[3] / 255)).concat(255);
  const light = v => { v = v.slice(0, 3).map(u => u / 255).map(u => u <= 0.04045 ? u / 12.92 : ((u + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const contrast = (a, b) => { const [p, q] = [light(a), light(b)].sort((m, n) => n - m); return (p + 0.05) / (q + 0.05); };
  // What an element stands on: its own ground and those of all it is in, one by one; a gradient is one more that it may stand on.
  const grounds = e => {
    const layers = []; let bars = [];
    for (let at = e; at; at = at.parentElement) {
      const s = getComputedStyle(at);
      if (at instanceof SVGElement) { const r = at.querySelector(":scope > rect"); if (r) layers.push(rgba(getComputedStyle(r).fill)); continue; }
      const bar = s.backgroundImage.match(/gradient\(((?:color|rgb|oklab|rgba)\([^)]*\))/);
      if (bar) bars.push(rgba(bar[1]));
      layers.push(rgba(s.backgroundColor));
    }
    let ground = [255, 255, 255, 255];
    for (const l of layers.reverse()) ground = over(l, ground);
    return [ground, ...bars];
  };
  const bad = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  const judge = (e, text) => {
    if (!e.checkVisibility({visibilityProperty: true}) || e.closest("canvas, .u-legend:empty")) return;
    const s = getComputedStyle(e), ink = rgba(e instanceof SVGElement ? s.fill : s.color), size = parseFloat(s.fontSize);
    const need = size >= 24 || size >= 18.66 && Number(s.fontWeight) >= 700 ? 3 : 4.5;
    seen++;
    for (const g of grounds(e)) { const has = contrast(over(ink, g), g); if (has < need) bad.add(has.toFixed(2) + " " + e.tagName + "." + e.getAttribute("class") + ": " + text.trim().slice(0, 40)); }
  };
  for (let n; (n = walk.nextNode());) if (n.nodeValue.trim() && n.parentElement.tagName !== "TITLE" && n.parentElement.tagName !== "title") judge(n.parentElement, n.nodeValue);
  for (const e of document.querySelectorAll("input:not([type=hidden]), textarea, select")) judge(e, "field " + e.name);
  return JSON.stringify({seen, bad: [...bad]});
})()`

// Every text of every view can be read, light and dark; and where somebody has asked for less motion nothing moves.
func TestBrowserContrast(t *testing.T) {
	d, cl, task := openDaemon(t)
	job := finishedJob(t, cl, task.ID)
	for _, dark := range []bool{false, true} {
		looked := 0
		tab := browser.Open(t, browser.Window{Dark: dark, Still: dark, Expect: []string{"404", "422"}})
		for _, path := range []string{"/", "/shares/Production", "/series/Production", "/versions", "/versions/1", "/what-if", "/queues", "/queues/LOCAL", "/tasks?over=too",
			fmt.Sprintf("/tasks/%d", task.ID), fmt.Sprintf("/jobs/%d", job), "/resources", "/claims", "/decisions", "/changes", "/decisions?share=Nobody", "/tasks?colour=red", "/nowhere"} {
			tab.Go(d.URL() + path)
			tab.Sees("main h1")
			var found struct {
				Seen int
				Bad  []string
			}
			if err := json.Unmarshal([]byte(browser.Eval[string](tab, faint)), &found); err != nil || found.Seen < 10 {
				t.Errorf("%s: %d texts were looked at, %v", path, found.Seen, err)
			}
			looked += found.Seen
			for _, bad := range found.Bad {
				t.Errorf("%s, dark %t: contrast %s", path, dark, bad)
			}
			if moves := browser.Eval[int](tab, "document.getAnimations().length"); dark && moves > 0 {
				t.Errorf("%s: %d things move", path, moves)
			}
		}
		t.Logf("dark %t: %d texts", dark, looked)
		browser.Eval[bool](tab, `(p => { p.textContent = "planted"; p.style.color = "#888"; p.style.background = "#777"; document.querySelector("main").append(p); return true; })(document.createElement("p"))`)
		if found := browser.Eval[string](tab, faint); !strings.Contains(found, "planted") {
			t.Errorf("a text that is hard to see is not found: %s", found)
		}
	}
}

// Of a thousand shares the branches are closed at first; keys open one, a link opens all, and without scripts all are there.
func TestBrowserClosedBranches(t *testing.T) {
	d, _ := startDaemon(t, func(c *config.Config) {
		c.Site = filepath.Join(t.TempDir(), "site.yml")
		if err := os.WriteFile(c.Site, []byte(manyShares()), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	const shown = `[...document.querySelectorAll("table.tree tbody tr")].filter(r => r.checkVisibility()).length`
	tab := browser.Open(t, browser.Window{})
	tab.Go(d.URL() + "/")
	tab.Until(`document.querySelector("tr[tabindex='0'] .twist")`)
	if n := browser.Eval[int](tab, shown); n != pageBranches {
		t.Errorf("%d shares are shown, want the %d at the top", n, pageBranches)
	}
	if n := browser.Eval[int](tab, `document.querySelectorAll("figure.icicle svg.slab").length`); n < pageBranches {
		t.Errorf("%d slabs where nothing is held, want one a branch at least", n)
	}
	browser.Eval[bool](tab, `document.querySelector("tr[tabindex='0']").focus(), true`)
	tab.Press(kb.ArrowRight)
	tab.Until(shown + fmt.Sprintf(" === %d", pageBranches+pageLeaves))
	was := tab.Text("#age time")
	tab.Until(`document.querySelector("#age time").textContent !== "` + was + `"`)
	if n := browser.Eval[int](tab, shown); n != pageBranches+pageLeaves {
		t.Errorf("%d shares are shown after news", n)
	}
	tab.Press(kb.ArrowDown)
	tab.Until(`document.activeElement.getAttribute("aria-level") === "2"`)
	tab.Press(kb.ArrowLeft) // to the branch
	tab.Press(kb.ArrowLeft)
	tab.Until(shown + fmt.Sprintf(" === %d", pageBranches))
	tab.Click(".closed a")
	tab.At("/?open=all")
	tab.Until(shown + fmt.Sprintf(" === %d", pageBranches*(1+pageLeaves)))

	plain := browser.Open(t, browser.Window{NoScript: true, Width: 390, Height: 844})
	plain.Go(d.URL() + "/")
	if n := browser.Eval[int](plain, shown); n != pageBranches*(1+pageLeaves) {
		t.Errorf("%d shares are shown without scripts", n)
	}
	plain.FitsTheWidth()
}

// Where there are tokens a person logs in by keys alone, sees what he asked for, acts by a form, and logs out.
func TestBrowserLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	const token = "a-token-of-this-daemon-01"
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := startDaemon(t, func(c *config.Config) { c.Access.TokenFile = file })
	tab := browser.Open(t, browser.Window{Expect: []string{"401", "403"}})
	tab.Go(d.URL() + "/queues/LOCAL")
	tab.Sees("#token")
	tab.Until(`document.activeElement.id === "token"`) // nobody needs to look for the field
	tab.Press("a-token-of-somebody-else")
	tab.Press(kb.Enter)
	tab.Sees("[role=alert]")
	tab.Until(`document.activeElement.id === "token"`)
	tab.Press(token)
	tab.Press(kb.Enter)
	tab.At("/queues/LOCAL")
	if text := tab.Text("h1"); !strings.Contains(text, "LOCAL") {
		t.Errorf("the page is %q", text)
	}
	// A form without its token changes nothing; the page's own does.
	browser.Eval[bool](tab, `(async () => { await fetch("/queues/LOCAL/state", {method: "POST", body: new URLSearchParams({state: "offline", sure: "yes"})}); window.tried = true; })(), true`)
	tab.Until("window.tried")
	tab.Go(d.URL() + "/queues/LOCAL")
	if text := tab.Text(".state"); text != "online" {
		t.Errorf("a form of somebody else has made the queue %s", text)
	}
	tab.Click("form.logout button")
	tab.Sees("#token")
	tab.Go(d.URL() + "/queues/LOCAL")
	tab.Sees("#token")
}

//go:build browser

package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/browser"
)

// On a telephone the name, the state and what is held of what are seen without scrolling sideways.
func TestBrowserNarrowTables(t *testing.T) {
	d, cl, task := openDaemon(t)
	finishedJob(t, cl, task.ID)
	for _, dark := range []bool{false, true} {
		tab := browser.Open(t, browser.Window{Width: 390, Height: 844, Dark: dark})
		for path, columns := range map[string]int{"/": 4, "/queues": 4, "/tasks?over=too": 3, fmt.Sprintf("/tasks/%d", task.ID): 2, "/decisions": 3, "/changes": 4} {
			tab.Go(d.URL() + path)
			tab.Sees("main table")
			tab.FitsTheWidth()
			// The last of the first columns ends within the window, and no text of theirs is cut off.
			far := browser.Eval[float64](tab, fmt.Sprintf(`Math.max(...[...document.querySelector("main .wide table").rows].slice(0, 20).filter(r => r.cells.length >= %d)
				.map(r => r.cells[%d].getBoundingClientRect().right))`, columns, columns-1))
			if far > 390 {
				t.Errorf("%s, dark %t: the first %d columns end at %.0f of 390", path, dark, columns, far)
			}
			// What is read as one thing is not broken in two, and the head takes two lines at the most.
			if broken := browser.Eval[string](tab, `[...document.querySelectorAll("main a.keep, main span.keep, header nav a")]
				.filter(e => new Set([...e.getClientRects()].map(r => r.top)).size > 1).map(e => e.textContent).join(", ")`); broken != "" {
				t.Errorf("%s, dark %t: broken: %s", path, dark, broken)
			}
			if high := browser.Eval[float64](tab, `document.querySelector("header").getBoundingClientRect().height`); high > 100 {
				t.Errorf("%s, dark %t: the head is %.0f pixels high", path, dark, high)
			}
			if into := os.Getenv("DIVVY_SCREENSHOTS"); into != "" {
				tab.Shot(filepath.Join(into, fmt.Sprintf("narrow%s-%t.png", strings.NewReplacer("/", "_", "?", "_").Replace(path), dark)))
			}
		}
	}
}

// The times under a chart stand apart from each other.
func TestBrowserChartTicks(t *testing.T) {
	d, _, _ := openDaemon(t)
	tab := browser.Open(t, browser.Window{})
	tab.Go(d.URL() + "/shares/Analysis/User")
	tab.Sees(".chart canvas")
	// What is written on the canvas is noted while the chart of the hour is drawn again and again: it is new, so that ticks are seconds.
	browser.Eval[bool](tab, `(() => {
		const write = CanvasRenderingContext2D.prototype.fillText;
		window.ticks = new Map();
		CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
			if (/^\d\d:\d\d(:\d\d)?$/.test(text)) {
				const half = this.measureText(text).width / 2, at = this.getTransform().transformPoint(new DOMPoint(x, y));
				window.ticks.set(text, [at.x - half, at.x + half]);
			}
			return write.apply(this, arguments);
		};
		return true;
	})()`)
	for range 3 {
		browser.Eval[bool](tab, "window.ticks.clear(), true")
		tab.Click("[data-span=hour]")
		tab.Until("window.ticks.size >= 2")
		near := browser.Eval[float64](tab, `(() => {
			const all = [...window.ticks.values()].sort((a, b) => a[0] - b[0]);
			return Math.min(...all.slice(1).map((t, i) => t[0] - all[i][1]));
		})()`)
		if near < 6 {
			t.Errorf("ticks stand %.1f pixels apart: %s", near, browser.Eval[string](tab, "JSON.stringify([...window.ticks])"))
		}
	}
}

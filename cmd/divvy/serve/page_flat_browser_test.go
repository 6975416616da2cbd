//go:build browser

package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/browser"
)

// flatShares is a site of so many shares, all at the top, some with long names.
func flatShares(n int) string {
	var b strings.Builder
	b.WriteString("queues:\n- {name: LOCAL, slots: 8}\nshares:\n")
	for i := range n {
		name := fmt.Sprintf("S%04d", i)
		if i%7 == 0 {
			name = fmt.Sprintf("a-rather-long-name-of-a-working-group-%04d", i)
		}
		fmt.Fprintf(&b, "- {name: %s, weight: %d}\n", name, 1+i%9)
	}
	return b.String()
}

// Of a thousand shares at the top the page shows those where something goes on, and one more as soon as it gets work; a link
// shows all. The names in the icicle stay within their slabs.
func TestBrowserFlatTree(t *testing.T) {
	d, cl := startDaemon(t, func(c *config.Config) {
		c.Site = filepath.Join(t.TempDir(), "site.yml")
		if err := os.WriteFile(c.Site, []byte(flatShares(1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	const shown = `[...document.querySelectorAll("table.tree tbody tr")].filter(r => r.checkVisibility())`
	tab := browser.Open(t, browser.Window{})
	tab.Go(d.URL() + "/")
	tab.Until(`document.querySelector("tr[tabindex='0']")`)
	if n := browser.Eval[int](tab, shown+".length"); n != 150 {
		t.Errorf("%d shares are shown, want 150", n)
	}
	spec := servetest.Hello(10)
	spec.Share = "S0800"
	if _, err := cl.Tasks().Submit(t.Context(), spec, ""); err != nil {
		t.Fatal(err)
	}
	tab.Until(shown + `.some(r => r.textContent.includes("S0800"))`)
	tab.FitsTheWidth()
	tab.Go(d.URL() + "/")
	tab.Until(`document.querySelector("tr[tabindex='0']")`)
	if n := browser.Eval[int](tab, shown+`.filter(r => r.textContent.includes("S0800")).length`); n != 1 {
		t.Errorf("S0800 is shown %d times", n)
	}
	if n := browser.Eval[int](tab, `[...document.querySelectorAll(".icicle svg.slab")].filter(s => getComputedStyle(s).overflow !== "hidden").length`); n != 0 {
		t.Errorf("%d slabs let their names out", n)
	}
	tab.Click(".closed a")
	tab.At("/?open=all")
	tab.Until(shown + ".length === 1000")
}

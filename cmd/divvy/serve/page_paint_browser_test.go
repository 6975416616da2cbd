//go:build browser

package serve

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/browser"
)

// A thousand shares are one page. How soon it is painted is logged: the machine may have other work.
func TestBrowserPaintsManyShares(t *testing.T) {
	d, cl := startDaemon(t, func(c *config.Config) {
		c.Site = filepath.Join(t.TempDir(), "site.yml")
		if err := os.WriteFile(c.Site, []byte(manyShares()), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	for i := range 100 {
		spec := servetest.Hello(100)
		spec.Share = fmt.Sprintf("B%02d/L%d", i, i%pageLeaves)
		if _, err := cl.Tasks().Submit(t.Context(), spec, ""); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		began := time.Now()
		res, err := http.Get(d.URL() + "/")
		if err != nil {
			t.Fatal(err)
		}
		n, _ := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		t.Logf("page: %s, %d bytes", time.Since(began), n)
		if res.StatusCode != http.StatusOK || n > 1<<20 {
			t.Errorf("%s, %d bytes: a page of a thousand shares has less than a megabyte", res.Status, n)
		}
	}
	tab := browser.Open(t, browser.Window{})
	for range 4 {
		tab.Go(d.URL() + "/")
		tab.Until(`performance.getEntriesByName("first-contentful-paint").length > 0`)
		if n := browser.Eval[int](tab, `document.querySelectorAll("table.tree tbody tr").length`); n != pageBranches*(1+pageLeaves) {
			t.Errorf("%d rows", n)
		}
		t.Logf("first paint: %.0f ms, loaded %.0f ms", browser.Eval[float64](tab, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
			browser.Eval[float64](tab, `performance.getEntriesByType("navigation")[0].loadEventEnd`))
	}
}

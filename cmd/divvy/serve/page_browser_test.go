//go:build browser

package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/chromedp/chromedp/kb"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/browser"
	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// openDaemon starts a daemon with two pilots of two slots each and a task, or one that keeps them busy for longer than a test
// takes.
func openDaemon(t *testing.T, work ...wire.TaskSpec) (*Daemon, *client.Client, wire.Task) {
	t.Helper()
	d, cl := startDaemon(t, func(c *config.Config) { c.Lease.Renew = time.Second }) // pilots soon hear that a job is not wanted
	ctx, leave := context.WithCancel(context.Background())
	gone := make(chan error, 2)
	for range cap(gone) {
		folder := t.TempDir() // before the cleanup below: it goes after the pilots
		go func() {
			gone <- pilot.Run(ctx, pilot.Config{Client: cl, Queue: "LOCAL", Slots: 2, Payload: payload.Config{WorkDir: folder}})
		}()
	}
	t.Cleanup(func() {
		leave()
		for range cap(gone) {
			<-gone
		}
	})
	s := servetest.Hello(200)
	s.Command = []string{"sh", "-c", "echo piece {{.Index}}; sleep 0.7"}
	if len(work) > 0 {
		s = work[0]
	}
	task, err := cl.Tasks().Submit(t.Context(), s, "")
	if err != nil {
		t.Fatal(err)
	}
	return d, cl, task
}

// The tree keeps up without being loaded again, leads down by a link, and is worked by keys.
func TestBrowserShares(t *testing.T) {
	d, _, _ := openDaemon(t)
	tab := browser.Open(t, browser.Window{})
	tab.Go(d.URL() + "/")
	browser.Eval[bool](tab, "window.marked = true")
	const held = `table.tree tr[aria-level="1"] td:nth-child(2)`
	tab.Until(`[...document.querySelectorAll('` + held + `')].some(c => Number(c.textContent) > 0)`)
	was := tab.Text("#age time")
	tab.Until(`document.querySelector("#age time").textContent !== "` + was + `"`)
	if !browser.Eval[bool](tab, "window.marked === true") {
		t.Error("the page was loaded again")
	}
	tab.FitsTheWidth()

	// Keys: into the tree, close its first branch, open it, and follow a link.
	tab.Until(`document.querySelector("tr[tabindex='0'] .twist")`)
	browser.Eval[bool](tab, `document.querySelector("tr[tabindex='0']").focus(), true`)
	rows := browser.Eval[int](tab, `document.querySelectorAll("table.tree tbody tr:not([hidden])").length`)
	tab.Press(kb.ArrowLeft)
	tab.Until(`document.activeElement.getAttribute("aria-expanded") === "false"`)
	if now := browser.Eval[int](tab, `document.querySelectorAll("table.tree tbody tr:not([hidden])").length`); now >= rows {
		t.Errorf("%d rows with a branch closed, %d before", now, rows)
	}
	tab.Press(kb.ArrowRight)
	tab.Until(`document.activeElement.getAttribute("aria-expanded") === "true"`)
	tab.Press(kb.ArrowDown)
	tab.Until(`document.activeElement.getAttribute("aria-level") === "2"`)
	below := browser.Eval[string](tab, `document.activeElement.querySelector("a").getAttribute("href")`)
	tab.Press(kb.Enter)
	tab.At(below)
	tab.Click(".crumbs a")
	tab.At("/")
}

// Without scripts the page has all that it has with them, at one moment, and drill-down by links.
func TestBrowserWithoutScripts(t *testing.T) {
	d, _, _ := openDaemon(t)
	tab := browser.Open(t, browser.Window{NoScript: true, Width: 390, Height: 844, Dark: true})
	tab.Go(d.URL() + "/")
	if tab.Text("h1") != "Shares" || tab.Text(".age") == "" {
		t.Error("no heading or no age")
	}
	tab.FitsTheWidth()
	link := browser.Eval[string](tab, `document.querySelector("table.tree a").getAttribute("href")`)
	tab.Click("table.tree a")
	tab.At(link)
	tab.FitsTheWidth()
}

// What-if shows before and after and how long the way is; it is applied only when it was said twice.
func TestBrowserWhatIf(t *testing.T) {
	d, cl, _ := openDaemon(t)
	version := func() int64 {
		st, err := cl.Shares().Standing(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Version
	}
	before := version()
	tab := browser.Open(t, browser.Window{})
	tab.Go(d.URL() + "/what-if")
	source := browser.Eval[string](tab, `document.getElementById("source").value`)
	if !strings.Contains(source, "weight: 70") {
		t.Fatalf("the form does not have the file: %q", source)
	}
	tab.Fill("#source", strings.Replace(source, "weight: 70", "weight: 40", 1))
	tab.Click("#rehearse")
	tab.Sees("#result .eta")
	if text := tab.Text("#result"); !strings.Contains(text, "weight 70 → 40") || tab.Text(".eta") == "" {
		t.Errorf("it says %s", text)
	}
	if n := version(); n != before {
		t.Errorf("looking made version %d", n)
	}
	tab.Click("#apply")
	tab.Sees("input[name=sure]")
	if n := version(); n != before {
		t.Errorf("asking made version %d", n)
	}
	tab.Click("main form button")
	tab.At(fmt.Sprintf("/versions/%d", before+1))
	if said := tab.Text(".said"); !strings.Contains(said, "in force") {
		t.Errorf("it says %q", said)
	}
	if text := tab.Text(".changes"); !strings.Contains(text, "weight 70 → 40") {
		t.Errorf("the version's page says %s", text)
	}
	if n := version(); n != before+1 {
		t.Errorf("version %d is in force", n)
	}
	tab.FitsTheWidth()
}

// The course of a share is drawn from the samples, and goes on while the page is open.
func TestBrowserChart(t *testing.T) {
	d, _, _ := openDaemon(t)
	tab := browser.Open(t, browser.Window{Width: 390, Height: 844})
	tab.Go(d.URL() + "/shares/Analysis/User")
	tab.Sees(".chart canvas")
	tab.Until(`Number(document.querySelector(".u-legend") !== null)`)
	tab.Click(`[data-span=day]`)
	tab.Until(`document.querySelector("[data-span=day]").getAttribute("aria-current") === "true"`)
	tab.Sees(".chart canvas")
	tab.FitsTheWidth()
	tab.Go(d.URL() + "/series/Analysis/User")
	tab.Sees("tbody time, tbody tr th")
	tab.FitsTheWidth()
}

// Pictures of the page, light and dark, wide and narrow: into DIVVY_SCREENSHOTS, else the test's artifacts.
func TestBrowserScreenshots(t *testing.T) {
	into := os.Getenv("DIVVY_SCREENSHOTS")
	if into == "" {
		into = t.ArtifactDir()
	}
	d, cl, _ := openDaemon(t)
	for _, share := range []string{"Production/Rep", "Production/Val", "Test"} {
		task := servetest.Hello(60)
		task.Share, task.Command = share, []string{"sh", "-c", "sleep 2"}
		if _, err := cl.Tasks().Submit(t.Context(), task, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []struct {
		name, path string
		browser.Window
	}{
		{"page-light", "/", browser.Window{Height: 760}}, {"page-dark", "/", browser.Window{Height: 760, Dark: true}},
		{"page-share", "/shares/Production", browser.Window{Height: 760}}, {"page-narrow", "/", browser.Window{Width: 390, Height: 844, Dark: true}},
	} {
		tab := browser.Open(t, w.Window)
		tab.Go(d.URL() + w.path)
		tab.Until(`[...document.querySelectorAll("tr[aria-level='1'] td:nth-child(2)")].filter(c => Number(c.textContent) > 0).length > 1 || location.pathname !== "/"`)
		if strings.HasPrefix(w.path, "/shares/") {
			tab.Sees(".chart canvas")
		}
		tab.FitsTheWidth()
		file := filepath.Join(into, w.name+".png")
		tab.Shot(file)
		if s, err := os.Stat(file); err != nil || s.Size() < 10_000 {
			t.Errorf("%s: %v %v", file, s, err)
		}
	}
}

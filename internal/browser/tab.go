//go:build browser

package browser

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Window says how a page is looked at. Zero fields: 1280 × 900, light, with scripts.
type Window struct {
	Width, Height int64
	Dark          bool
	NoScript      bool
	Still         bool     // the person has asked for less motion
	Others        []string // hosts with ports that the page may send the person to, as for a login
	// Expect are parts of messages of the console that are meant, such as the 404 that a test asks for.
	Expect []string
}

// Tab is one window of a browser.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	host     string
	complain []string
	requests []string
}

const patience = 90 * time.Second // a machine that is busy with other tests has come to 40

// program finds Chromium.
func program(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("DIVVY_CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium on this machine: apt-get install chromium, or set DIVVY_CHROMIUM")
	return ""
}

// Open starts a browser and a window in it; both end with the test.
func Open(t testing.TB, w Window) *Tab {
	t.Helper()
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options, chromedp.ExecPath(program(t)), chromedp.NoSandbox, chromedp.DisableGPU)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(alloc)
	b := &Tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until it has gone
		end()
		stop()
		b.verdict(w)
	})
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	b.look(w)
	return b
}

func (b *Tab) look(w Window) {
	b.t.Helper()
	scheme := "light"
	if w.Dark {
		scheme = "dark"
	}
	motion := "no-preference"
	if w.Still {
		motion = "reduce"
	}
	ctx := b.ctx
	must := func(err error) {
		if err != nil {
			b.t.Fatalf("set up the window: %v", err)
		}
	}
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	must(err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	must(err)
	must(chromedp.Do(ctx, chromedp.EmulateViewport(cmp.Or(w.Width, 1280), cmp.Or(w.Height, 900))))
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}})
	must(err)
	_, err = chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: w.NoScript})
	must(err)
}

// hear notes what the browser tells of the page.
func (b *Tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		what := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			what += fmt.Sprint(" ", e.ExceptionDetails.Exception.Description)
		}
		b.complain = append(b.complain, "exception: "+what)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value))
			}
			b.complain = append(b.complain, fmt.Sprintf("console.%s: %s", e.Type, strings.Join(words, " ")))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.complain = append(b.complain, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// verdict fails the test for what a page must not do.
func (b *Tab) verdict(w Window) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complain {
		meant := false
		for _, e := range w.Expect {
			meant = meant || strings.Contains(c, e)
		}
		if !meant {
			b.t.Errorf("the page complains: %s", c)
		}
	}
	for _, r := range b.requests {
		u, err := url.Parse(r)
		if err != nil || u.Scheme != "data" && u.Scheme != "about" && u.Host != b.host && !slices.Contains(w.Others, u.Host) {
			b.t.Errorf("the page asked another host: %s, not %s", r, b.host)
		}
	}
}

// Requests lists what the page has asked for so far.
func (b *Tab) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.requests...)
}

// do runs one step within the patience.
func do[T any](b *Tab, what string, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return v
}

// until repeats a look until it is satisfied. What a look says is the complaint of a test that gives up.
func (b *Tab) until(look func() (ok bool, complaint string)) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, complaint := look()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			b.Shot(filepath.Join(b.t.ArtifactDir(), "gave-up.png"))
			b.t.Fatalf("not within %s: %s", patience, complaint)
		}
		select {
		case <-b.ctx.Done():
		case <-time.After(20 * time.Millisecond): // until the next look
		}
	}
}

// evaluate is the value of an expression; while a page loads there is none.
func evaluate[T any](b *Tab, expression string) (v T, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression))
}

// Go opens an address and waits until it has loaded.
func (b *Tab) Go(address string) {
	b.t.Helper()
	if u, err := url.Parse(address); err == nil {
		b.mu.Lock()
		b.host = u.Host
		b.mu.Unlock()
	}
	do(b, "open "+address, chromedp.Navigate(address))
}

// Sees waits for an element. Looks of this package work without scripts of the page too.
func (b *Tab) Sees(selector string) {
	b.t.Helper()
	b.Until(fmt.Sprintf("document.querySelector(%q)", selector))
}

// Click clicks the first element of a selector, when it is there.
func (b *Tab) Click(selector string) {
	b.t.Helper()
	b.Sees(selector)
	b.until(func() (bool, string) { // it may be put anew just before
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		_, err := chromedp.Run(ctx, chromedp.Click(chromedp.CSS(selector)))
		return err == nil, fmt.Sprintf("click %s: %v", selector, err)
	})
}

// Fill puts text into a field.
func (b *Tab) Fill(selector, text string) {
	b.t.Helper()
	b.Sees(selector)
	do(b, "fill "+selector, chromedp.SetValue(chromedp.CSS(selector), text))
}

// Press sends keys to what has the focus: letters, or keys of chromedp/kb.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	do(b, "press", chromedp.KeyEvent(keys))
}

// Text is the text of the first element of a selector, once it is there.
func (b *Tab) Text(selector string) string {
	b.t.Helper()
	b.Sees(selector)
	return strings.TrimSpace(Eval[string](b, fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector)))
}

// Eval is the value of an expression in the page.
func Eval[T any](b *Tab, expression string) T {
	b.t.Helper()
	v, err := evaluate[T](b, expression)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Until waits for an expression to be true.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	b.until(func() (bool, string) {
		v, err := evaluate[bool](b, "!!("+expression+")")
		return err == nil && v, fmt.Sprintf("%s (%v)", expression, err)
	})
}

// At waits until the page's address has this path and query.
func (b *Tab) At(path string) {
	b.t.Helper()
	b.until(func() (bool, string) {
		at, err := evaluate[string](b, "location.pathname + location.search")
		return err == nil && at == path, fmt.Sprintf("at %s, not at %s (%v)", at, path, err)
	})
}

// FitsTheWidth fails the test when the page scrolls sideways.
func (b *Tab) FitsTheWidth() {
	b.t.Helper()
	by := Eval[float64](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
	if by > 0 {
		b.t.Errorf("the page is %.0f px too wide:\n%s", by, Eval[string](b, `[...document.querySelectorAll("body *")]
			.filter(e => !e.closest(".wide") && e.getBoundingClientRect().right > innerWidth + 1)
			.slice(0, 5).map(e => e.outerHTML.slice(0, 120)).join("\n")`))
	}
}

// Shot writes what the window shows as a PNG.
func (b *Tab) Shot(file string) {
	b.t.Helper()
	png := do(b, "screenshot", chromedp.CaptureScreenshot())
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

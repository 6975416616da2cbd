package serve

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
)

// What BenchmarkOpenPages does.
const (
	openPages    = 50
	pageBranches = 100 // shares at the top, each with
	pageLeaves   = 9   // below it
	pageQueues   = 100
	pageRounds   = 8
	pagePhase    = 2 * time.Second
	pagePilots   = 16
)

// manyShares is a site of a thousand shares and a hundred queues.
func manyShares() string { return manySharesWith(pageQueues) }

func manySharesWith(queues int) string {
	var b strings.Builder
	b.WriteString("shares:\n")
	for i := range pageBranches {
		fmt.Fprintf(&b, "  - name: B%02d\n    children:\n", i)
		for j := range pageLeaves {
			fmt.Fprintf(&b, "      - {name: L%d, weight: %d}\n", j, 1+j)
		}
	}
	b.WriteString("tags:\n  - {match: {}, share: B00/L0}\nqueues:\n")
	for i := range queues {
		fmt.Fprintf(&b, "  - {name: Q%02d, slots: 10000, cores: 64}\n", i)
	}
	return b.String()
}

// BenchmarkOpenPages tells what open pages take from claims: pilots pull and finish over HTTP, by turns with fifty pages
// open and with none. The figure is the median of the ratios of neighbouring turns; it may not be below 0.95.
func BenchmarkOpenPages(b *testing.B) {
	d, cl := pagesDaemon(b)
	ctx, cancel := context.WithCancel(b.Context())
	var pilots sync.WaitGroup
	var claimed atomic.Int64
	for i := range pagePilots {
		pilots.Go(func() { pullAndFinish(ctx, cl, i, &claimed) })
	}
	defer pilots.Wait()
	defer cancel()
	for range b.N {
		measurePages(b, d.URL(), &claimed)
	}
}

func measurePages(b *testing.B, address string, claimed *atomic.Int64) {
	rate := func() float64 {
		began, from := time.Now(), claimed.Load()
		<-time.After(pagePhase)
		return float64(claimed.Load()-from) / time.Since(began).Seconds()
	}
	opened := func() float64 {
		shut, told := openAll(b, address)
		defer shut()
		with := rate()
		if n := told.Load(); n < openPages {
			b.Fatalf("%d pages were told %d times", openPages, n)
		}
		return with
	}
	rate() // warm
	var ratios, closed, open []float64
	for round := range pageRounds {
		var without, with float64
		if round%2 == 0 { // whatever grows or fades with time does so for both
			without, with = rate(), opened()
		} else {
			with, without = opened(), rate()
		}
		closed, open, ratios = append(closed, without), append(open, with), append(ratios, with/without)
	}
	b.Logf("closed %.0f\nopen   %.0f\nratios %.3f", closed, open, ratios)
	b.ReportMetric(median(closed), "closed_jobs/s")
	b.ReportMetric(median(open), "open_jobs/s")
	b.ReportMetric(median(ratios), "open/closed")
}

func median(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// pagesDaemon is a daemon with many shares and enough jobs in a tenth of them.
func pagesDaemon(b *testing.B) (*Daemon, *client.Client) {
	d, cl := startDaemon(b, func(c *config.Config) {
		c.Site = filepath.Join(b.TempDir(), "site.yml")
		if err := os.WriteFile(c.Site, []byte(manyShares()), 0o600); err != nil {
			b.Fatal(err)
		}
	})
	for i := range pageBranches {
		spec := servetest.Hello(20000)
		spec.Share = fmt.Sprintf("B%02d/L%d", i, i%pageLeaves)
		if _, err := cl.Tasks().Submit(b.Context(), spec, ""); err != nil {
			b.Fatal(err)
		}
	}
	servetest.Eventually(b, 2*time.Minute, func() (bool, string) {
		st, err := cl.Daemon().Status(b.Context())
		return err == nil && st.ReadyJobs > 50000, fmt.Sprintf("%d ready jobs (%v)", st.ReadyJobs, err)
	})
	return d, cl
}

func pullAndFinish(ctx context.Context, cl *client.Client, no int, claimed *atomic.Int64) {
	name := fmt.Sprintf("pilot-%d", no)
	for ctx.Err() == nil {
		reply, err := cl.Pull(ctx, wire.PullRequest{Queue: fmt.Sprintf("Q%02d", no), Pilot: name, Slot: wire.Slot{Cores: 16}, Max: 16, WaitS: 1})
		if err != nil {
			continue
		}
		req := wire.FinishRequest{Pilot: name}
		for _, l := range reply.Leases {
			req.Results = append(req.Results, wire.Result{Lease: l.Lease, Outcome: "finished"})
		}
		if len(req.Results) > 0 {
			if _, err := cl.Finish(ctx, req); err == nil {
				claimed.Add(int64(len(req.Results)))
			}
		}
	}
}

// openAll opens pages on different views and reads what they are told. shut closes them.
func openAll(b *testing.B, address string) (shut func(), told *atomic.Int64) {
	told = &atomic.Int64{}
	ctx, cancel := context.WithCancel(b.Context())
	var pages sync.WaitGroup
	for i := range openPages {
		of := "/"
		switch i % 5 {
		case 1, 2:
			of = fmt.Sprintf("/shares/B%02d", i)
		case 3:
			of = "/queues"
		case 4:
			of = "/decisions"
		}
		pages.Go(func() { readEvents(ctx, address+"/events?of="+url.QueryEscape(of), told) })
	}
	return func() { cancel(); pages.Wait() }, told
}

func readEvents(ctx context.Context, address string, told *atomic.Int64) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: ") {
			told.Add(1)
		}
	}
}

package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
)

// BenchmarkPageOfAMillion shows every view of a daemon with a thousand shares, a thousand queues and a million ready jobs, and
// tells how long views take, and which statements took more than 50 ms.
func BenchmarkPageOfAMillion(b *testing.B) {
	d, cl := startDaemon(b, func(c *config.Config) {
		c.Site = filepath.Join(b.TempDir(), "site.yml")
		if err := os.WriteFile(c.Site, []byte(manySharesWith(1000)), 0o600); err != nil {
			b.Fatal(err)
		}
	})
	var task int64
	for i := range pageBranches {
		spec := servetest.Hello(10_000)
		spec.Share = fmt.Sprintf("B%02d/L%d", i, i%pageLeaves)
		made, err := cl.Tasks().Submit(b.Context(), spec, "")
		if err != nil {
			b.Fatal(err)
		}
		task = made.ID
	}
	servetest.Eventually(b, 10*time.Minute, func() (bool, string) {
		st, err := cl.Daemon().Status(b.Context())
		return err == nil && st.ReadyJobs >= pageBranches*10_000, fmt.Sprintf("%d ready jobs (%v)", st.ReadyJobs, err)
	})
	jobs, err := cl.Jobs().List(b.Context(), client.JobFilter{Task: task, Limit: 1000})
	if err != nil || len(jobs.Items) == 0 {
		b.Fatal(err)
	}
	b.ResetTimer()
	before := statementsOf(b, d.URL())
	for range b.N {
		showAll(b, d.URL(), task, jobs.Items[len(jobs.Items)-1].ID)
	}
	b.StopTimer()
	slow := 0.0
	var lines []string
	for name, s := range statementsOf(b, d.URL()) {
		was := before[name]
		if n := (s.n - was.n) - (s.within - was.within); n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %v of %v took more than 50 ms, %.1f ms on the average", name, n, s.n-was.n, 1000*(s.sum-was.sum)/(s.n-was.n)))
			slow += n
		}
	}
	slices.Sort(lines)
	b.Logf("of all statements of the daemon:\n%s", strings.Join(lines, "\n"))
	b.ReportMetric(slow/float64(b.N), "slow_statements/op")
}

// showAll gets each view some times, not so near each other that one answer does for two.
func showAll(b *testing.B, address string, task, job int64) {
	const rounds = 5
	var lines []string
	for _, path := range []string{"/", "/?open=all", "/shares/B07", "/series/B07?span=week", "/queues", "/queues?sort=held&page=5", "/queues/Q500", "/tasks", "/tasks?sort=ready",
		fmt.Sprintf("/tasks/%d", task), fmt.Sprintf("/tasks/%d?state=ready", task), fmt.Sprintf("/tasks/%d?state=failed", task), fmt.Sprintf("/jobs/%d", job), "/resources", "/claims",
		"/decisions", "/decisions?share=B07", "/changes?what=site", "/versions"} {
		var took []time.Duration
		for range rounds {
			began := time.Now()
			res, err := http.Get(address + path)
			if err != nil {
				b.Fatal(err)
			}
			n, _ := io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if took = append(took, time.Since(began)); res.StatusCode != http.StatusOK || n == 0 {
				b.Fatalf("%s: %s, %d bytes", path, res.Status, n)
			}
			<-time.After(standingAge)
		}
		slices.Sort(took)
		lines = append(lines, fmt.Sprintf("%-28s %s, %s at the most", path, took[len(took)/2].Round(100*time.Microsecond), took[len(took)-1].Round(100*time.Microsecond)))
	}
	b.Logf("median and longest of %d:\n%s", rounds, strings.Join(lines, "\n"))
}

// standingAge is longer than a page keeps the standing of shares and queues.
const standingAge = time.Second

type statementTimes struct{ n, within, sum float64 }

// statementsOf is how often each was run, how often within 50 ms, and for how long altogether.
func statementsOf(b *testing.B, address string) map[string]statementTimes {
	b.Helper()
	res, err := http.Get(address + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	all := map[string]statementTimes{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		m := statementLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			b.Fatal(lines.Text())
		}
		s := all[m[2]]
		switch m[1] {
		case "count":
			s.n = v
		case "sum":
			s.sum = v
		default:
			s.within = v
		}
		all[m[2]] = s
	}
	if len(all) == 0 {
		b.Fatal("no divvy_sql_seconds")
	}
	return all
}

var statementLine = regexp.MustCompile(`^divvy_sql_seconds_(count|sum|bucket)\{(?:le="0.05",)?statement="([^"]*)"(?:,le="0.05")?\} (\S+)$`)

package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gopkg.in/yaml.v3"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
)

// described is a registry that only notes what could be exported: labels by the name of the metric.
type described struct{ labels map[string][]string }

var descOf = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

func (r *described) Register(c prometheus.Collector) error {
	all := make(chan *prometheus.Desc)
	go func() {
		c.Describe(all)
		close(all)
	}()
	for desc := range all {
		if m := descOf.FindStringSubmatch(desc.String()); m != nil {
			r.labels[m[1]] = strings.Split(m[2], ",")
		}
	}
	return nil
}

func (r *described) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = r.Register(c)
	}
}

func (r *described) Unregister(prometheus.Collector) bool { return true }

// exported is every metric that a daemon may have.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	r := &described{labels: map[string][]string{}}
	pool := pgtest.Open(t)
	store := site.NewStore(site.Config{Pool: pool, Metrics: r})
	d, err := dispatcher.Open(t.Context(), dispatcher.Config{Pool: pool, Load: store.Version, Metrics: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	generator.New(generator.Config{Pool: pool, Site: store.Load, Metrics: r})
	newLoopMetrics(r)
	return r.labels
}

// The alert rules are of the form that Prometheus takes, and of metrics and labels that there are.
func TestAlertRules(t *testing.T) {
	src, err := os.ReadFile("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(src)))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	metrics, seen := exported(t), map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: for: %v", r.Alert, err)
			}
			if r.Alert == "" || seen[r.Alert] || r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%q: a name of its own, severity, summary and description are needed", r.Alert)
			}
			seen[r.Alert] = true
			checkExpr(t, r.Alert, r.Expr, metrics)
		}
	}
	for _, want := range []string{"DivvyTasksLate", "DivvyTasksThrottled", "DivvyQueueBlackHole"} {
		if !seen[want] {
			t.Errorf("no rule %s", want)
		}
	}
}

var (
	selector = regexp.MustCompile(`(divvy_[a-z_]+)(?:\{([^}]*)\})?`)
	grouping = regexp.MustCompile(`by \(([a-z_, ]+)\) \((?:increase\()?(divvy_[a-z_]+)`)
	matcher  = regexp.MustCompile(`([a-z_]+)=~?"`)
)

func checkExpr(t *testing.T, alert, expr string, metrics map[string][]string) {
	t.Helper()
	if strings.Count(expr, "(") != strings.Count(expr, ")") || !selector.MatchString(expr) {
		t.Errorf("%s: %q is no expression of ours", alert, expr)
	}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		labels, known := metrics[m[1]]
		if !known {
			t.Errorf("%s: no daemon exports %s", alert, m[1])
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) {
				t.Errorf("%s: %s has no label %s, but %v", alert, m[1], l[1], labels)
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		if !slices.Contains(metrics[m[2]], m[1]) {
			t.Errorf("%s: %s has no label %s", alert, m[2], m[1])
		}
	}
}

// The page for operators names metrics that there are.
func TestMetricsOfOperationsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, from, _ := strings.Cut(string(page), "## Metrics to watch")
	table, _, _ := strings.Cut(from, "\n## ")
	metrics := exported(t)
	for _, m := range regexp.MustCompile("`(divvy_[a-z_]+)").FindAllStringSubmatch(table, -1) {
		if _, known := metrics[m[1]]; !known {
			t.Errorf("no daemon exports %s", m[1])
		}
	}
}

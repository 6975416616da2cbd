package serve

import (
	"encoding/csv"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/divvyhq/divvy/internal/golden"
)

var descOf = regexp.MustCompile(`fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*").*variableLabels: \{([^}]*)\}`)

// exported returns the labels of every metric that a daemon has, by name, those included of which nothing was counted yet.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	labels, _ := described(t)
	return labels
}

// described returns the labels and the help of every metric, by name.
func described(t *testing.T) (labels map[string][]string, help map[string]string) {
	t.Helper()
	d, _ := startDaemon(t, nil)
	all := make(chan *prometheus.Desc)
	labels, help = map[string][]string{}, map[string]string{}
	go func() {
		d.watch.registry.Describe(all)
		close(all)
	}()
	for desc := range all {
		if m := descOf.FindStringSubmatch(desc.String()); m != nil {
			labels[m[1]] = strings.Split(m[3], ",")
			help[m[1]], _ = strconv.Unquote(m[2])
		}
	}
	if len(labels) < 60 {
		t.Fatalf("only %d metrics: %v", len(labels), labels)
	}
	return labels, help
}

// The alert rules are of the form that Prometheus takes, and of metrics and labels that there are.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../../../deploy/prometheus/alerts.yml")
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
			if want := "https://github.com/divvyhq/divvy/blob/main/docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			runbookSays(t, r.Alert, r.Labels["severity"])
			checkExpr(t, r.Alert, r.Expr, metrics)
		}
	}
	tests, err := os.ReadFile("../../../deploy/prometheus/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for alert := range seen {
		if !strings.Contains(string(tests), "  - name: "+alert+"\n") {
			t.Errorf("alerts_test.yml does not show %s fire", alert)
		}
	}
	for _, entry := range regexp.MustCompile(`(?m)^## (\S+)$`).FindAllStringSubmatch(runbook(t), -1) {
		if !seen[entry[1]] {
			t.Errorf("the runbook has an entry for %s, which is no alert", entry[1])
		}
	}
	for _, want := range []string{"DivvyTasksLate", "DivvyTasksThrottled", "DivvyQueueBlackHole"} {
		if !seen[want] {
			t.Errorf("no rule %s", want)
		}
	}
}

func runbook(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runbookSays holds an alert's entry against it: the same severity, what to look at, what to do.
func runbookSays(t *testing.T, alert, severity string) {
	t.Helper()
	_, after, _ := strings.Cut(runbook(t), "\n## "+alert+"\n")
	entry, _, _ := strings.Cut(after, "\n## ")
	for _, want := range []string{"**" + severity + ".**", "\n- Look: ", "\n- Do: "} {
		if !strings.Contains(entry, want) {
			t.Errorf("the entry of %s in docs/runbook.md does not have %q", alert, want)
		}
	}
}

var (
	selector  = regexp.MustCompile(`((?:divvy|go|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	grouping  = regexp.MustCompile(`by \(([a-z_, ]+)\) \(([^()]*\()?((?:divvy|go|process)_[a-z_]+)`)
	matcher   = regexp.MustCompile(`([a-z_]+)=~?"`)
	histogram = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// labelsOf a metric that may be a part of a histogram; what Prometheus adds is among them.
func labelsOf(metrics map[string][]string, name string) (labels []string, known bool) {
	if labels, known = metrics[name]; !known {
		labels, known = metrics[histogram.ReplaceAllString(name, "")]
	}
	return append([]string{"instance", "job", "le"}, labels...), known
}

func checkExpr(t *testing.T, where, expr string, metrics map[string][]string) {
	t.Helper()
	if strings.Count(expr, "(") != strings.Count(expr, ")") || !selector.MatchString(expr) {
		t.Errorf("%s: %q is no expression of ours", where, expr)
	}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		labels, known := labelsOf(metrics, m[1])
		if !known {
			t.Errorf("%s: no daemon exports %s", where, m[1])
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) {
				t.Errorf("%s: %s has no label %s, but %v", where, m[1], l[1], labels)
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		labels, _ := labelsOf(metrics, m[3])
		for by := range strings.SplitSeq(m[1], ", ") {
			if !slices.Contains(labels, by) {
				t.Errorf("%s: %s has no label %s, but %v", where, m[3], by, labels)
			}
		}
	}
}

// docs/metrics.csv has every metric of ours; docs/metrics.md names none that there is not.
func TestMetricsPage(t *testing.T) {
	labels, help := described(t)
	table := [][]string{{"metric", "labels", "meaning"}}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if strings.HasPrefix(name, "divvy_") {
			table = append(table, []string{name, strings.Join(labels[name], " "), help[name]})
		}
	}
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(table); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../../docs/metrics.csv", text.String())
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(divvy_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		if _, known := labels[m[1]]; !known {
			t.Errorf("no daemon exports %s", m[1])
		}
	}
}

package dispatcher

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/shares"
)

// registered notes what is registered.
type registered struct{ all []prometheus.Collector }

func (r *registered) Register(c prometheus.Collector) error {
	r.all = append(r.all, c)
	return nil
}

func (r *registered) MustRegister(all ...prometheus.Collector) { r.all = append(r.all, all...) }
func (r *registered) Unregister(prometheus.Collector) bool     { return false }

var described = regexp.MustCompile(`^Desc\{fqName: "(.*)", help: "(.*)", unit: "", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// What package meter is to have: a line a metric with its name, kind, labels, buckets and help. The file stays when this core goes.
func TestMetricsAreThoseOfMeter(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	reg := &registered{}
	_, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg})
	t.Cleanup(stop)
	var lines []string
	for _, c := range reg.all {
		descs := make(chan *prometheus.Desc, 100)
		c.Describe(descs)
		close(descs)
		for desc := range descs {
			m := described.FindStringSubmatch(desc.String())
			if m == nil {
				t.Fatal(desc)
			}
			kind, buckets := "gauge", []string{}
			switch c := c.(type) {
			case prometheus.Histogram:
				kind, buckets = "histogram", bucketsOf(t, c)
			case *prometheus.HistogramVec:
				c.WithLabelValues(strings.Split(m[3], ",")...)
				kind, buckets = "histogram", bucketsOf(t, c)
			case *prometheus.CounterVec:
				kind = "counter"
			case prometheus.Counter:
				if c.Desc() == desc {
					kind = "counter"
				}
			}
			lines = append(lines, strings.Join([]string{m[1], kind, m[3], strings.Join(buckets, " "), m[2]}, "\t"))
		}
	}
	slices.Sort(lines)
	got, file := strings.Join(lines, "\n")+"\n", "meter/testdata/metrics.golden"
	if os.Getenv("DIVVY_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s is not what this package exports (DIVVY_GOLDEN=1 writes it): %v", file, err)
	}
}

func bucketsOf(t *testing.T, c prometheus.Collector) (bounds []string) {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range families[0].GetMetric()[0].GetHistogram().GetBucket() {
		bounds = append(bounds, fmt.Sprint(b.GetUpperBound()))
	}
	return bounds
}

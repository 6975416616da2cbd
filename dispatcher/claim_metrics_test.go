package dispatcher

import (
	"fmt"
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Claims are counted by state through their whole life.
func TestClaimMetrics(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	reg := prometheus.NewRegistry()
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg})
	t.Cleanup(stop)
	f.tending(d)
	counted := func(want map[string]float64) {
		t.Helper()
		eventually(t, fmt.Sprint("metrics say ", want), func() bool {
			got := map[string]float64{}
			families, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range families {
				for _, m := range family.Metric {
					if family.GetName() == "divvy_resource_claims" && m.Gauge.GetValue() != 0 {
						got[m.Label[0].GetValue()] = m.Gauge.GetValue()
					}
				}
			}
			return maps.Equal(want, got)
		})
	}
	l := paired(shares.ClaimTemplate{Node: true})
	l.Groups[0].Replicas, l.Groups[0].Members = 3, []resource.Role{{Name: "main", Count: 1}}
	f.enqueueLayout("A", l)
	counted(map[string]float64{"pending": 3})
	one, two := pullAt(t, d, slotAt("q", "n1")), pullAt(t, d, slotAt("q", "n2"))
	counted(map[string]float64{"pending": 1, "bound": 2})
	finish(t, d, Finished, one)
	counted(map[string]float64{"pending": 1, "bound": 1})
	finish(t, d, Finished, two, pullAt(t, d, slotAt("q", "n2")))
	counted(map[string]float64{})
}

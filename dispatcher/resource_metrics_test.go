package dispatcher

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// The figures of a resource are exported by its name, and by nothing that there may be any number of.
func TestResourceMetrics(t *testing.T) {
	f := scarceSite(t, 50, units("maya", 3), units("nuke", 2))
	reg := prometheus.NewRegistry()
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg})
	t.Cleanup(stop)
	f.want("alice", 4, maya)
	f.want("bob", 4, maya)
	takeAll(t, d, "q")
	got := map[string]map[string]float64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			for _, l := range m.Label {
				switch {
				case l.GetName() == "resource":
					if got[family.GetName()] == nil {
						got[family.GetName()] = map[string]float64{}
					}
					got[family.GetName()][l.GetValue()] = m.Gauge.GetValue()
				case family.GetName() == "divvy_pulls_refused_total":
					refused[l.GetValue()] = m.Counter.GetValue()
				}
			}
		}
	}
	want := map[string]map[string]float64{
		"divvy_resource_capacity_units": {"maya": 3, "nuke": 2}, "divvy_resource_held_units": {"maya": 3, "nuke": 0},
		"divvy_resource_wanted_units": {"maya": 5, "nuke": 0}, "divvy_resource_kept_units": {"maya": 0, "nuke": 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if refused["resource_capacity"] != 1 {
		t.Errorf("refused %v, want one for resource_capacity", refused)
	}
}

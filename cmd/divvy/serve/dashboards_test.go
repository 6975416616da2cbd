package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"
)

// dashboard is what matters here of one of Grafana's.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []variableOf
	}
	Panels []picture
}

// variableOf a dashboard: what is chosen at its top. Query is a text for a data source, an object for what is asked of one.
type variableOf struct {
	Name, Type, Definition string
	Query                  any
	Datasource             struct{ Type, UID string }
}

// picture is one panel of a dashboard.
type picture struct {
	ID          int
	Type, Title string
	Datasource  struct{ Type, UID string }
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct {
		Expr, LegendFormat, RefID string
		Datasource                struct{ UID string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("../../../deploy/grafana/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("%v %v", files, err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

// Dashboards show metrics and labels that there are, from the data source that is chosen, on panels that do not overlap.
func TestDashboards(t *testing.T) {
	t.Parallel()
	metrics, uids := exported(t), map[string]bool{}
	for file, d := range dashboards(t) {
		if d.UID == "" || d.Title == "" || uids[d.UID] || len(d.Panels) < 5 {
			t.Errorf("%s: uid %q, title %q, %d panels", file, d.UID, d.Title, len(d.Panels))
		}
		uids[d.UID] = true
		for _, v := range d.Templating.List {
			if v.Type == "query" {
				checkExpr(t, file+", variable "+v.Name, v.Definition, metrics)
			}
		}
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			if p.Datasource.UID != "${datasource}" || p.Title == "" || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d %q: data source %q, %d queries", file, p.ID, p.Title, p.Datasource.UID, len(p.Targets))
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %s is over %s, or over the edge", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			for _, q := range p.Targets {
				checkExpr(t, file+", "+p.Title, q.Expr, metrics)
			}
		}
	}
}

// Units that Grafana knows, of those that are used.
var panelUnits = map[string]bool{"s": true, "ops": true, "reqps": true, "short": true, "percentunit": true, "bytes": true, "Bps": true}

// What Grafana needs of a panel is there: numbers and letters of their own, a kind, a unit and variables that it knows.
func TestPanels(t *testing.T) {
	for file, d := range dashboards(t) {
		if d.SchemaVersion != 39 {
			t.Errorf("%s: schemaVersion %d, want 39, that of Grafana 10.3 and later", file, d.SchemaVersion)
		}
		known := map[string]bool{"__rate_interval": true}
		for i, v := range d.Templating.List {
			// The source comes first: what others ask, they ask of it.
			first := v.Name == "datasource" && v.Type == "datasource" && v.Query == "prometheus"
			if known[v.Name] || i == 0 != first || i > 0 && (v.Type != "query" || v.Datasource.UID != "${datasource}" || v.Datasource.Type != "prometheus") {
				t.Errorf("%s: variable %d: %+v", file, i, v)
			}
			known[v.Name] = true
		}
		if !known["datasource"] {
			t.Errorf("%s: no variable chooses the data source", file)
		}
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if g := p.GridPos; g.X < 0 || g.Y < 0 || g.W < 1 || g.H < 2 {
				t.Errorf("%s: %q: place %+v", file, p.Title, g)
			}
			if p.ID < 1 || ids[p.ID] || p.Type != "timeseries" && p.Type != "stat" || !panelUnits[p.FieldConfig.Defaults.Unit] || p.Datasource.Type != "prometheus" {
				t.Errorf("%s: %q: id %d, type %q, unit %q, data source %q", file, p.Title, p.ID, p.Type, p.FieldConfig.Defaults.Unit, p.Datasource.Type)
			}
			ids[p.ID] = true
			letters := map[string]bool{}
			for _, q := range p.Targets {
				if q.RefID == "" || letters[q.RefID] || q.Datasource.UID != "${datasource}" || p.Type == "timeseries" && q.LegendFormat == "" {
					t.Errorf("%s: %q: query %q of %q, legend %q", file, p.Title, q.RefID, q.Datasource.UID, q.LegendFormat)
				}
				letters[q.RefID] = true
				for _, v := range variable.FindAllStringSubmatch(q.Expr, -1) {
					if !known[v[1]] {
						t.Errorf("%s: %q: no variable %s", file, p.Title, v[1])
					}
				}
			}
		}
	}
}

var variable = regexp.MustCompile(`\$\{?(\w+)`)

// What is given to Grafana and Prometheus to start with is YAML, and names files that there are.
func TestProvisioning(t *testing.T) {
	for file, want := range map[string]string{
		"grafana/provisioning/dashboards/divvy.yml": "providers", "grafana/provisioning/datasources/divvy.yml": "datasources",
		"prometheus/prometheus.yml": "scrape_configs",
	} {
		text, err := os.ReadFile(filepath.Join("../../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := yaml.Unmarshal(text, &doc); err != nil || doc[want] == nil {
			t.Errorf("%s: %v, without %s", file, err, want)
		}
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gopkg.in/yaml.v3"
)

// dashboard is what matters here of one of Grafana's.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		ID         int
		Title      string
		Datasource struct{ UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct{ Expr, LegendFormat, RefID string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("../../deploy/grafana/*.json")
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

// What is given to Grafana and Prometheus to start with is YAML, and names files that there are.
func TestProvisioning(t *testing.T) {
	for file, want := range map[string]string{
		"grafana/provisioning/dashboards/divvy.yml": "providers", "grafana/provisioning/datasources/divvy.yml": "datasources",
		"prometheus/prometheus.yml": "scrape_configs",
	} {
		text, err := os.ReadFile(filepath.Join("../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := yaml.Unmarshal(text, &doc); err != nil || doc[want] == nil {
			t.Errorf("%s: %v, without %s", file, err, want)
		}
	}
}

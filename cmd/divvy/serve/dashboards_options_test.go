package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What @grafana/schema 10.3, the model of schemaVersion 39, says that must be there, with the values that it knows, of those parts that
// our dashboards have: path in the panel or link → values; none: any.
var modelOf = map[string]map[string][]string{
	"timeseries": {
		"options.legend.showLegend": {"true"}, "options.legend.displayMode": {"list", "table"}, "options.legend.placement": {"bottom", "right"},
		"options.legend.calcs": nil, "options.tooltip.mode": {"single", "multi", "none"}, "options.tooltip.sort": {"asc", "desc", "none"},
		"fieldConfig.defaults": nil, "fieldConfig.overrides": nil,
	},
	"stat": {
		"options.colorMode": {"none", "value", "background", "background_solid"}, "options.graphMode": {"none", "line", "area"},
		"options.justifyMode": {"auto", "center"}, "options.orientation": {"auto", "vertical", "horizontal"},
		"options.textMode": {"auto", "value", "value_and_name", "name", "none"}, "options.showPercentChange": {"true", "false"},
		"options.wideLayout": {"true", "false"}, "options.reduceOptions.calcs": nil, "fieldConfig.defaults": nil, "fieldConfig.overrides": nil,
	},
	"dashboards": { // a link
		"asDropdown": {"true", "false"}, "icon": nil, "includeVars": {"true", "false"}, "keepTime": {"true", "false"}, "tags": nil,
		"targetBlank": {"true", "false"}, "title": nil, "tooltip": nil, "url": nil,
	},
}

// Keys of a dashboard and of a panel that the model has.
var (
	dashboardKeys = []string{"annotations", "description", "editable", "graphTooltip", "id", "links", "panels", "refresh", "schemaVersion",
		"tags", "templating", "time", "timepicker", "timezone", "title", "uid", "version", "weekStart"}
	panelKeys = []string{"datasource", "description", "fieldConfig", "gridPos", "id", "interval", "links", "maxDataPoints", "options", "repeat",
		"targets", "timeFrom", "timeShift", "title", "transformations", "transparent", "type"}
)

// Dashboards are what Grafana's own model says: a key that it does not know is a slip that nobody would see, and an option that it
// must have is not left to what a version takes for it.
func TestDashboardsAreOfTheModel(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d map[string]any
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		knownKeys(t, file, d, dashboardKeys)
		parts := slices.Concat(d["panels"].([]any), d["links"].([]any))
		for _, p := range parts {
			part := p.(map[string]any)
			kind := fmt.Sprint(part["type"])
			where := fmt.Sprintf("%s: %v", file, part["title"])
			if kind != "dashboards" {
				knownKeys(t, where, part, panelKeys)
			}
			if modelOf[kind] == nil {
				t.Errorf("%s: type %s is not known here", where, kind)
			}
			for path, values := range modelOf[kind] {
				is, there := at(part, path)
				if !there || values != nil && !slices.Contains(values, fmt.Sprint(is)) {
					t.Errorf("%s: %s is %v, want one of %v", where, path, is, values)
				}
			}
		}
	}
}

func knownKeys(t *testing.T, where string, part map[string]any, known []string) {
	t.Helper()
	for key := range part {
		if !slices.Contains(known, key) {
			t.Errorf("%s: Grafana knows no %s", where, key)
		}
	}
}

// at is what is at the end of a path of keys.
func at(part any, path string) (is any, there bool) {
	for key := range strings.SplitSeq(path, ".") {
		in, ok := part.(map[string]any)
		if part, there = in[key]; !ok || !there {
			return nil, false
		}
	}
	return part, true
}

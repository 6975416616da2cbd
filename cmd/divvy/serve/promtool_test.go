//go:build promtool

package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v (Debian: apt-get install prometheus)\n%s", strings.Join(args, " "), err, out)
	}
}

// Prometheus itself takes the configuration and the rules; each alert fires on made-up trouble and none on a day as it
// should be.
func TestPromtoolRules(t *testing.T) {
	promtool(t, "check", "config", "../../../deploy/prometheus/prometheus.yml")
	promtool(t, "check", "rules", "../../../deploy/prometheus/alerts.yml")
	promtool(t, "test", "rules", "../../../deploy/prometheus/alerts_test.yml")
}

// A rule that is broken is found out: the test above looks at something.
func TestPromtoolFindsFaults(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"alerts.yml", "alerts_test.yml"} {
		text, err := os.ReadFile(filepath.Join("../../../deploy/prometheus", file))
		if err != nil {
			t.Fatal(err)
		}
		broken := strings.Replace(string(text), "(divvy_share_starvation_seconds) > 900", "(divvy_share_starvation_seconds) > 90000", 1)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", filepath.Join(dir, "alerts_test.yml")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "DivvyShareStarves") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The queries of the dashboards are PromQL.
func TestPromtoolDashboards(t *testing.T) {
	plain := strings.NewReplacer("$__rate_interval", "5m", "$pool", "p", "$share", ".*", "$queue", ".*", "$instance", ".*")
	var rules []map[string]string
	for file, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				rules = append(rules, map[string]string{"record": fmt.Sprintf("check:%s:p%d_%s", strings.TrimSuffix(file, ".json"), p.ID, q.RefID), "expr": plain.Replace(q.Expr)})
			}
		}
	}
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yml") // JSON is YAML
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

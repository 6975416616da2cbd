package month

import (
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/report"
)

// A small month: what is folded agrees with a recount, and every report is timed; questions too.
func TestMonth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a durable cluster")
	}
	var told strings.Builder
	r, err := Run(t.Context(), stage.Config{Progress: &told}, Month{Jobs: 4000, Yesterday: 3000, Days: 3, Rounds: 1},
		map[string]string{"how many": "SELECT count(*) FROM report.attempts"})
	if err != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	if len(r.Figures) != len(report.List())+1 || !slices.Contains(r.Checks, "the roll-ups agree with a recount") {
		t.Errorf("%d figures, %v", len(r.Figures), r.Checks)
	}
	if _, err := Run(t.Context(), stage.Config{}, Month{Jobs: 1, Yesterday: 1, Days: 3, Rounds: 1}, nil); err == nil {
		t.Error("a day without an attempt")
	}
}

package suite

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/report"
)

// A small month: what is folded agrees with a recount, and every report is timed; questions too.
func TestMonth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a durable cluster")
	}
	var told strings.Builder
	r, err := RunMonth(t.Context(), MonthConfig{Month: Month{Jobs: 4000, Yesterday: 3000, Days: 3, Rounds: 1},
		Questions: map[string]string{"how many": "SELECT count(*) FROM report.attempts"}, Progress: &told, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	if len(r.Figures) != len(report.List())+1 || !slices.Contains(r.Checks, "the roll-ups agree with a recount") {
		t.Errorf("%d figures, %v", len(r.Figures), r.Checks)
	}
	if _, err := RunMonth(t.Context(), MonthConfig{Month: Month{Jobs: 1, Yesterday: 1, Days: 3, Rounds: 1}}); err == nil {
		t.Error("a day without an attempt")
	}
}

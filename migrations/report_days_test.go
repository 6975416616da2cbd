package migrations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Days of the roll-ups are those of UTC: a question about the last ones has the same answer whatever the session's time zone,
// one where it is tomorrow already and one where it is still yesterday among them.
func TestQuestionsAboutDaysAreOfUTC(t *testing.T) {
	tx := sample(t)
	if _, err := tx.Exec(t.Context(), `RESET ROLE;
		INSERT INTO day_usage (day, share, queue, user_name, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
			SELECT date_trunc('day', now(), 'UTC') + make_interval(days => d), 2, 1, 'alice', 3600000, 3600000, 1800000, 1000000, d + 50, 0, 0, 0, 0
			FROM generate_series(-40, 2) d ON CONFLICT DO NOTHING;
		INSERT INTO task_usage (day, task, share, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
			SELECT date_trunc('day', now(), 'UTC') + make_interval(days => d), 1, 2, 3600000, 3600000, 0, 0, d + 50, 0, 0, 0, 0
			FROM generate_series(-40, 2) d ON CONFLICT DO NOTHING;
		INSERT INTO node_usage (day, queue, node, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
			SELECT date_trunc('day', now(), 'UTC') + make_interval(days => d), 1, 'n', 3600000, 0, 0, 0, d + 50, 1, 0, 0, 0
			FROM generate_series(-40, 2) d ON CONFLICT DO NOTHING`); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, sql := range documented(t) {
		if !strings.Contains(sql, "day >=") {
			continue
		}
		n++
		var want []string
		for i, zone := range []string{"UTC", "Pacific/Kiritimati", "Etc/GMT+12"} {
			if _, err := tx.Exec(t.Context(), "SELECT set_config('timezone', $1, true)", zone); err != nil {
				t.Fatal(err)
			}
			got := table(t, tx, sql)
			if i == 0 {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("%s answers otherwise in %s, or nothing:\n%s", sql, zone, diff)
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d questions are about days", n)
	}
}

package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTimeOf(t *testing.T) {
	at := time.Date(2024, 11, 2, 0, 2, 18, 0, time.UTC)
	for _, s := range []string{"02-NOV-24 00:02:18", "02-Nov-24 00:02:18", "2024-11-02 00:02:18", "2024-11-02T00:02:18", "2024-11-02T01:02:18+01:00",
		" datetime/2024-11-02 00:02:18 ", "2024-11-02 00:02:18.000000"} {
		if got, err := TimeOf(s); err != nil || got == nil || !got.Equal(at) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	if got, err := TimeOf("2024-11-02 00:02:18.25"); err != nil || got.Sub(at) != 250*time.Millisecond {
		t.Errorf("a fraction: %v, %v", got, err)
	}
	if got, err := TimeOf(""); got != nil || err != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
	for _, s := range []string{"now", "2024-13-02", "1730505738"} {
		if got, err := TimeOf(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

func TestCleanAll(t *testing.T) {
	got := CleanAll(map[string]any{"a\x00": []any{"b\x00c", 1, "\xff"}})
	if diff := cmp.Diff(map[string]any{"a": []any{"bc", 1, "\uFFFD"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

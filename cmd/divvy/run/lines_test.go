package run

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However a stream comes in parts, each of its lines is written whole, once, with its prefix.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringMatching(`[ab\n]{0,5}`)).Draw(t, "parts")
		var got strings.Builder
		l := &lines{prefix: "[3] ", write: func(s string) {
			if !strings.HasSuffix(s, "\n") {
				t.Fatalf("a line without its end: %q", s)
			}
			got.WriteString(s)
		}}
		for _, p := range parts {
			l.add(p)
		}
		l.close()
		want := ""
		for line := range strings.Lines(strings.Join(parts, "")) {
			want += "[3] " + strings.TrimSuffix(line, "\n") + "\n"
		}
		if got.String() != want {
			t.Fatalf("%q, want %q", got.String(), want)
		}
	})
}

// What is kept of a job that was over before it was followed goes to the streams that it came from.
func TestParts(t *testing.T) {
	for tail, want := range map[string][2]string{
		"": {}, "a": {"a\n", ""}, "a\nb\n": {"a\nb\n", ""}, "--- stdout\na\n--- stderr\nb\n": {"a\n", "b\n"},
	} {
		if out, errs := parts(tail); out != want[0] || errs != want[1] {
			t.Errorf("%q: %q, %q", tail, out, errs)
		}
	}
}

package work

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// Changes of divvy task clone are refused with the one that is wrong, or are one JSON object, which says the same when it is given as
// changes.
func FuzzPatch(f *testing.F) {
	for _, s := range [][2]string{{"name=again", "requirements.memory_mb=8000"}, {"a.b=1", "a=2"}, {"a=2", "a.b=1"}, {"count=", "env={A: b}"}, {"env={1: x}", "x=.nan"},
		{"name=2026-01-01", "x=[1, 2026-01-01]"}, {"=", "a"}, {"a..b=1", ".=2"}, {"x=*a", "x=&a [*a]"}, {"x=0x10", "y=1e400"}, {"x=!!binary gIE=", "x=\"\\u007f\""}, {"x=1\n--- 2", "y=\x00"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if !utf8.ValidString(one) || !utf8.ValidString(two) {
			return // two names may be one in JSON
		}
		patch, err := patchOf([]string{one, two})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "--set ") {
				t.Errorf("no place in %q", err)
			}
			return
		}
		var said map[string]json.RawMessage
		if err := json.Unmarshal(patch, &said); err != nil || len(said) == 0 {
			t.Fatalf("%s: %v", patch, err)
		}
		var sets []string
		for key, value := range said {
			sets = append(sets, key+"="+inASCII(string(value)))
		}
		var same map[string]any
		if again, err := patchOf(sets); err != nil || json.Unmarshal(again, &same) != nil || !reflect.DeepEqual(same, decoded(t, patch)) {
			t.Errorf("%q: %s, %v, not %s", sets, again, err, patch)
		}
	})
}

// decoded is what a patch says: what is no text is written as \ufffd once, and is that character the next time.
func decoded(t *testing.T, patch []byte) (said map[string]any) {
	t.Helper()
	if err := json.Unmarshal(patch, &said); err != nil {
		t.Fatal(err)
	}
	return said
}

// inASCII writes what only texts of JSON can have as YAML takes it, which does not take all of it as it is.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x7f {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

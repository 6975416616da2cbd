package swf

import (
	"strings"
	"testing"
)

// A mapping is refused with a word on what is expected, or makes a path whose text is that of the mapping.
func FuzzMapping(f *testing.F) {
	for _, s := range []string{"share=group.{gid}", "share={uid}/{queue}", "share=", "share={", "share=}{", "share={nobody}", "share={uid}{gid}", "x"} {
		f.Add(s, int64(7))
	}
	f.Fuzz(func(t *testing.T, s string, n int64) {
		m, err := ParseMapping(s)
		if err != nil {
			if !strings.Contains(err.Error(), "expected share=PATH") {
				t.Errorf("%v says not what is expected", err)
			}
			return
		}
		if n == Unknown || n < 0 {
			return
		}
		path := m.Share(Record{User: n, Group: n, Queue: n, Partition: n})
		if strings.ContainsAny(path, "{}") || path == "" {
			t.Errorf("%q makes %q", s, path)
		}
	})
}

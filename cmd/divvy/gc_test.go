package main

import "testing"

func TestGCPercent(t *testing.T) {
	for _, c := range []struct {
		used, scanned uint64 // MiB
		want          int
	}{{0, 0, 400}, {1, 1, 400}, {64, 64, 300}, {192, 192, 100}, {300, 150, 26}, {1 << 14, 1 << 14, 25}, {1 << 14, 1 << 13, 12}, {1 << 14, 1, 5}} {
		if got := gcPercent(c.used<<20, c.scanned<<20); got != c.want {
			t.Errorf("%+v: GOGC %d", c, got)
		}
	}
}

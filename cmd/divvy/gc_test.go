package main

import "testing"

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 64 << 20: 200, 128 << 20: 100, 200 << 20: 64, 1 << 34: 50} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d MiB in use: GOGC %d, want %d", live>>20, got, want)
		}
	}
}

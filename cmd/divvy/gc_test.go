package main

import "testing"

func TestGCPercent(t *testing.T) {
	for used, want := range map[uint64]int{0: 400, 1 << 20: 400, 64 << 20: 300, 192 << 20: 100, 300 << 20: 40, 1 << 34: 25} {
		if got := gcPercent(used); got != want {
			t.Errorf("%d MiB in use: GOGC %d, want %d", used>>20, got, want)
		}
	}
}

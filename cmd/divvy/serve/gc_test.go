package serve

import "testing"

func TestMemoryBudget(t *testing.T) {
	for used, want := range map[uint64]int64{0: 320, 64: 320, 160: 320, 250: 320, 300: 356, 1 << 14: 1<<14 + 1<<11} { // MiB
		if got := memoryLimit(used << 20); got != want<<20 {
			t.Errorf("%d MiB in use: a limit of %d MiB", used, got>>20)
		}
	}
}

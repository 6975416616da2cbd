package proc

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCPUIn(t *testing.T) {
	got, err := cpuIn("4711 (a daemon (x)) S 1 2 3 4 5 6 7 8 9 10 150 75 0 0 20 0 9 0 100", 13)
	if err != nil || got != 2250*time.Millisecond {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1 2", "1 (x) S 1 2 3 4 5 6 7 8 9 10 a 75 0"} {
		if got, err := cpuIn(bad, 13); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestMayOpen(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := MayOpen(10); err != nil {
		t.Error(err)
	}
	if err := MayOpen(1 << 40); err == nil || !strings.Contains(err.Error(), "ulimit -Hn") {
		t.Errorf("more than the kernel has: %v", err)
	}
}

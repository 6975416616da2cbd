package dispatcher

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpu is the CPU time of this process: what a benchmark takes on a machine that has other work.
func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// serverCPU is the CPU time of the backends of the fixture's database that are there now; 0 where /proc does not tell.
func (f *fixture) serverCPU(b *testing.B) (sum time.Duration) {
	b.Helper()
	rows, err := f.pool.Query(context.Background(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			b.Fatal(err)
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for _, ticks := range fields[11:13] { // utime, stime
			n, _ := strconv.Atoi(ticks)
			sum += time.Duration(n) * (time.Second / 100)
		}
	}
	return sum
}

package work

import (
	"strings"
	"testing"
)

// A line fits its terminal.
func TestWatchLine(t *testing.T) {
	var b strings.Builder
	WriteLine(&b, "task 7 running ["+strings.Repeat("█", 60)+"]", 40, true)
	if line := strings.TrimPrefix(b.String(), "\r\x1b[K"); len([]rune(line)) > 39 || !strings.HasSuffix(line, "…") {
		t.Errorf("%q", b.String())
	}
}

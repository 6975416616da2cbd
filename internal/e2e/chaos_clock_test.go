//go:build chaos

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockEnv tells a program of clockBinary when its clock jumps: "AFTER BY", in seconds.
const clockEnv = "CHAOS_CLOCK"

// A Go program asks the kernel for the time, not libc, so that nothing can be put in between. clockBinary is divvy with
// another package time: wall clocks jump, the monotonic one, by which durations are measured, does not, as when an
// operator sets the clock. Building it builds all that it imports, once a cache of Go.
const (
	clockReads = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	clockJumps = "\tsec, nsec, mono := runtimeNow()\n\tif mono-startNano > chaosAfter {\n\t\tsec += chaosBy\n\t}\n\tif mono == 0 {"
	clockMore  = `
var chaosAfter, chaosBy = chaosClock()

func chaosClock() (after, by int64) {
	v, _ := syscall.Getenv("` + clockEnv + `")
	n, sign, at := [2]int64{}, int64(1), 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == ' ':
			at = 1
		case c == '-':
			sign = -1
		default:
			n[at] = 10*n[at] + int64(c-'0')
		}
	}
	return n[0] * 1e9, sign * n[1]
}
`
)

func clockBinary(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src/time/time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), clockReads, clockJumps, 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"syscall\"\n", 1)
	if strings.Count(changed, "chaosBy") != 1 || !strings.Contains(changed, "\t\"syscall\"\n") {
		t.Fatalf("%s is not as it was in Go 1.26: find out where Now reads the clock", source)
	}
	dir := t.TempDir()
	other, overlay, out := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "divvy")
	names, err := json.Marshal(map[string]map[string]string{"Replace": {source: other}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{other: changed + clockMore, overlay: string(names)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", out, "./cmd/divvy")
	cmd.Dir = "../.."
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -overlay: %v\n%s", err, said)
	}
	return out
}

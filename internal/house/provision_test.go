package house_test

import (
	"strings"
	"testing"
)

// The commands of docs/howto/start-pilots.md, as they stand there.
func TestStartPilots(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a daemon and pilots")
	}
	var blocks []string
	for _, m := range shellBlock.FindAllStringSubmatch(read(t, "docs/howto/start-pilots.md"), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 5 {
		t.Fatalf("%d blocks of commands; this test knows daemon, provision, submit, wanted, table", len(blocks))
	}
	sh := newShell(t)
	sh.run("go build -o divvy ./cmd/divvy")
	stopServe := sh.background(blocks[0])
	sh.eventually("divvy status", func() bool { _, err := sh.try("./divvy status"); return err == nil })
	stopProvision := sh.background(blocks[1])
	sh.run(blocks[2])
	sh.eventually("pilots", func() bool { out, err := sh.try(blocks[4]); return err == nil && strings.Contains(out, "4 alive") })
	if out := sh.run(blocks[3]); !strings.Contains(out, "pilots: ") || !strings.Contains(out, "wanted; ") {
		t.Errorf("queue wanted:\n%s", out)
	}
	sh.eventually("no pilots", func() bool {
		out, err := sh.try(blocks[4])
		return err == nil && strings.Contains(out, "0 asked, 0 queued, 0 alive")
	})
	if out := sh.run("./divvy task show 1 -o json"); !strings.Contains(out, `"done"`) && !strings.Contains(out, `"finished"`) {
		t.Errorf("the task:\n%s", out)
	}
	stopProvision()
	stopServe()
}

package house_test

import (
	"strings"
	"testing"
)

// The commands of docs/howto/move-from-panda.md, as they stand there but for the port.
func TestFromPanda(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a daemon")
	}
	sh := newShell(t)
	var blocks []string
	for _, m := range shellBlock.FindAllStringSubmatch(read(t, "docs/howto/move-from-panda.md"), -1) {
		blocks = append(blocks, strings.ReplaceAll(m[1], "127.0.0.1:8470", "127.0.0.1:"+sh.port))
	}
	if len(blocks) != 4 {
		t.Fatalf("%d blocks of commands; this test knows import, daemon, task, pilot", len(blocks))
	}
	sh.run(blocks[0])
	stop := sh.background(blocks[1])
	sh.eventually("divvy status", func() bool { _, err := sh.try("./divvy status"); return err == nil })
	for i, wants := range [][]string{
		2: {`"success":true`, "ignored: nucleus", "Production/MC", "{{.FirstEvent}}"},
		3: {`"PandaID":1,`, "1000 events from 0", `{"StatusCode":0,"command":"NULL"}`, "finished", "nEvents=1000"},
	} {
		if wants == nil {
			continue
		}
		out := sh.run(blocks[i])
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	stop()
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// counts runs go test on a module with the given test file and tallies it.
func counts(t *testing.T, file string) (*tally, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\ngo 1.24\n", "m_test.go": "package m\nimport \"testing\"\n" + file} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "./...")
	cmd.Dir = dir
	out, _ := cmd.Output() // its exit code is not what is tested
	var said strings.Builder
	got := &tally{to: &said}
	if err := got.read(strings.NewReader(string(out))); err != nil {
		t.Fatal(err)
	}
	return got, said.String()
}

func TestCounts(t *testing.T) {
	for name, c := range map[string]struct {
		file                    string
		passed, failed, skipped int
		says                    string
	}{
		"subtests count":        {`func TestA(t *testing.T) { t.Run("x", func(*testing.T) {}); t.Run("y", func(*testing.T) {}) }`, 3, 0, 0, "pass"},
		"failure":               {`func TestA(t *testing.T) { t.Error("it is so") }; func TestB(*testing.T) {}`, 1, 1, 0, "it is so"},
		"no database":           {`func TestA(t *testing.T) { t.Skip("SKIPPED, -short and no PostgreSQL") }`, 0, 1, 0, "which counts as failed"},
		"no release":            {`func TestA(t *testing.T) { t.Skip("SKIPPED: release v1 is not in this clone") }`, 0, 1, 0, "which counts as failed"},
		"another skip":          {`func TestA(t *testing.T) { t.Skip("only root may do that") }; func TestB(*testing.T) {}`, 1, 0, 1, "only root"},
		"does not compile":      {`func TestA(t *testing.T) { nonsense }`, 0, 1, 0, "nonsense"},
		"dies before any test":  {`func TestMain(*testing.M) { panic("at the start") }; func TestA(*testing.T) {}`, 0, 1, 0, "at the start"},
		"panics inside of test": {`func TestA(*testing.T) { panic("in the middle") }`, 0, 1, 0, "in the middle"},
	} {
		t.Run(name, func(t *testing.T) {
			got, said := counts(t, c.file)
			if got.passed != c.passed || got.failed != c.failed || got.skipped != c.skipped || !strings.Contains(said, c.says) {
				t.Errorf("%d passed, %d failed, %d skipped; want %d, %d, %d and %q in:\n%s",
					got.passed, got.failed, got.skipped, c.passed, c.failed, c.skipped, c.says, said)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	const lines = `{"Action":"pass","Package":"m","Test":"TestQuick/sub","Elapsed":40}
{"Action":"pass","Package":"m","Test":"TestQuick","Elapsed":3}
{"Action":"pass","Package":"other","Test":"TestOther","Elapsed":4}
{"Action":"pass","Package":"m","Test":"TestSlow","Elapsed":9}
{"Action":"pass","Package":"m","Elapsed":52}
{"Action":"pass","Package":"other","Elapsed":50}`
	for name, c := range map[string]struct {
		pkg, test time.Duration
		says      string
	}{
		"none":      {0, 0, ""},
		"kept":      {time.Minute, time.Minute, ""},
		"a test":    {0, 8 * time.Second, "m TestSlow took 9.0 s of 8s"},
		"a package": {51 * time.Second, 0, "m took 52.0 s of 51s; its slowest tests:\n       9.0 s TestSlow\n       3.0 s TestQuick\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			got := &tally{to: &said, mostPackage: c.pkg, mostTest: c.test}
			if err := got.read(strings.NewReader(lines)); err != nil {
				t.Fatal(err)
			}
			if got.passed != 4 || got.failed != 0 || !strings.Contains(said.String(), c.says) || strings.Contains(said.String(), "SLOW: ") != (c.says != "") {
				t.Errorf("%d passed, %d failed; want 4, 0 and %q in:\n%s", got.passed, got.failed, c.says, said.String())
			}
		})
	}
}

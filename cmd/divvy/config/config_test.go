package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/golden"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func noEnv(string) string { return "" }

func TestConfigCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/config/*.yml")
	if err != nil || len(files) < 10 {
		t.Fatalf("corpus has %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := (&Flags{file: file}).Load(noEnv)
			if strings.HasPrefix(filepath.Base(file), "good.") {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			src, _ := os.ReadFile(file)
			wanted := 0
			for line := range strings.Lines(string(src)) {
				if want, ok := strings.CutPrefix(line, "# want: "); ok {
					wanted++
					if want = strings.TrimSpace(want); !strings.Contains(err.Error(), want) {
						t.Errorf("error misses %q:\n%v", want, err)
					}
				}
			}
			if wanted == 0 {
				t.Error("the file says no '# want:'")
			}
		})
	}
}

func TestConfigPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "divvy.yml")
	if err := os.WriteFile(file, []byte("generators: 3\nsample: 3s\nlog_level: debug\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"DIVVY_CONFIG": file, "DIVVY_GENERATORS": "4", "DIVVY_SAMPLE": "4s"}
	var cf Flags
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	cf.Bind(fs)
	if err := fs.Parse([]string{"--generators", "5", "--insecure"}); err != nil {
		t.Fatal(err)
	}
	got, err := cf.Load(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.Generators = 5         // flag
	want.Access.Insecure = true // flag without a value
	want.Sample = 4e9           // environment
	want.Log.Level = "debug"    // file
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfigBadEnvironment(t *testing.T) {
	_, err := (&Flags{}).Load(func(k string) string {
		return map[string]string{"DIVVY_GENERATORS": "x", "DIVVY_SAMPLE": "y"}[k]
	})
	for _, want := range []string{"environment DIVVY_GENERATORS", "environment DIVVY_SAMPLE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error misses %q: %v", want, err)
		}
	}
}

// What --print-config prints is a file that says the same.
func TestPrintConfigReadsBack(t *testing.T) {
	want := Defaults()
	want.Listen, want.Sample, want.Site = "127.0.0.1:1", 90*time.Second, "yes: a #strange name"
	var b bytes.Buffer
	if err := Print(&b, want); err != nil {
		t.Fatal(err)
	}
	got := Config{}
	if err := got.decode("printed", b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, b.String())
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:80": true, "127.8.8.8:1": true,
		":80": false, "0.0.0.0:80": false, "10.0.0.1:80": false, "[::]:80": false,
	} {
		if got, err := Loopback(addr); err != nil || got != want {
			t.Errorf("loopback(%q) = %v, %v", addr, got, err)
		}
	}
	for _, addr := range []string{"", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:http!"} {
		if _, err := Loopback(addr); err == nil {
			t.Errorf("loopback(%q) gave no error", addr)
		}
	}
}

// docs/configuration.md is what the struct says.
func TestConfigReference(t *testing.T) {
	golden.Equal(t, "../../../docs/configuration.md", Reference())
}

package keys

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is in the files counts, until they make no sense; then what was in them.
func TestFresh(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	reads := 0
	f := &Fresh[string]{Name: "a test", Files: func() []string { return []string{file} }, Log: slog.New(slog.NewTextHandler(&log, nil)), Every: 1, Read: func() (string, error) {
		reads++
		b, err := os.ReadFile(file)
		if err == nil && len(b) == 0 {
			err = errors.New("empty")
		}
		return string(b), err
	}}
	if err := f.First(); err == nil {
		t.Fatal("a file that is not there")
	}
	write("one")
	if err := f.First(); err != nil || f.Get() != "one" || reads != 2 {
		t.Fatalf("%v, %q, %d reads", err, f.Get(), reads)
	}
	write("three")
	if got := f.Get(); got != "three" || f.Get() != "three" || reads != 3 {
		t.Errorf("%q, %d reads", got, reads)
	}
	write("")
	if got := f.Get(); got != "three" || f.Get() != "three" || reads != 4 || strings.Count(log.String(), "stays in force\" error=empty of=\"a test\"") != 1 {
		t.Errorf("%q, %d reads, logged %s", got, reads, &log)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := f.Get(); got != "three" {
		t.Errorf("%q without the file", got)
	}
	write("four")
	if got := f.Get(); got != "four" {
		t.Errorf("%q", got)
	}
	f.Every = time.Hour
	write("eleven")
	if got := f.Get(); got != "four" {
		t.Errorf("%q before its time", got)
	}
}

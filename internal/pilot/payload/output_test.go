package payload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLogTail(t *testing.T) {
	dir := t.TempDir()
	var streams [2]*os.File
	for i, name := range []string{stdoutName, stderrName} {
		var err error
		if streams[i], err = os.Create(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		defer streams[i].Close()
	}
	line := strings.Repeat("o", 99) + "\n"
	write(t, "first\n"+strings.Repeat(line, 1000), dir, stdoutName)
	got := logTail(streams)
	if len(got) > mostLog+64 || !strings.HasPrefix(got, "[83") || strings.Contains(got, "first") || !strings.HasSuffix(got, "]\n"+strings.Repeat(line, 163)) {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
	write(t, "the reason\n", dir, stderrName)
	got = logTail(streams)
	if len(got) > mostLog+128 || !strings.HasSuffix(got, "\n--- stderr\nthe reason\n") || strings.Count(got, line) < 160 {
		t.Errorf("%d bytes, %d lines: %.100q", len(got), strings.Count(got, line), got)
	}
	write(t, strings.Repeat("e", 1<<20), dir, stderrName)
	got = logTail(streams)
	if n := strings.Count(got, "e"); len(got) > mostLog+128 || n < 8000 || strings.Count(got, line) < 78 {
		t.Errorf("%d bytes, %d of stderr, %d lines of stdout", len(got), n, strings.Count(got, line))
	}
}

func TestTextIsAlwaysText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		s := Clip(strings.Repeat(string(b), rapid.IntRange(0, 200).Draw(t, "n")))
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || len(s) > 4096 {
			t.Fatalf("%q", s)
		}
	})
}

package pilot

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLogTail(t *testing.T) {
	dir := t.TempDir()
	line := strings.Repeat("o", 99) + "\n"
	write(t, "first\n"+strings.Repeat(line, 1000), dir, stdoutName)
	got := logTail(dir)
	if len(got) > mostLog+64 || !strings.HasPrefix(got, "[83") || strings.Contains(got, "first") || !strings.HasSuffix(got, "]\n"+strings.Repeat(line, 163)) {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
	write(t, "the reason\n", dir, stderrName)
	got = logTail(dir)
	if len(got) > mostLog+128 || !strings.HasSuffix(got, "\n--- stderr\nthe reason\n") || strings.Count(got, line) < 160 {
		t.Errorf("%d bytes, %d lines: %.100q", len(got), strings.Count(got, line), got)
	}
	write(t, strings.Repeat("e", 1<<20), dir, stderrName)
	got = logTail(dir)
	if n := strings.Count(got, "e"); len(got) > mostLog+128 || n < 8000 || strings.Count(got, line) < 78 {
		t.Errorf("%d bytes, %d of stderr, %d lines of stdout", len(got), n, strings.Count(got, line))
	}
}

func TestTextIsAlwaysText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		s := clip(strings.Repeat(string(b), rapid.IntRange(0, 200).Draw(t, "n")))
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || len(s) > 4096 {
			t.Fatalf("%q", s)
		}
	})
}

func TestBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now()
		var b backoff
		for range rapid.IntRange(1, 100).Draw(t, "tries") {
			asked := time.Duration(rapid.Int64Range(0, 100).Draw(t, "asked")) * time.Second
			b.fail(now, asked, usualTiming)
			if pause := b.at.Sub(now); pause < asked || pause <= 0 || asked == 0 && pause > usualTiming.MaxPause {
				t.Fatalf("a pause of %s, asked for %s", pause, asked)
			}
			before := b.at
			b.hurry(now)
			if asked > 0 && b.at != before || asked == 0 && b.at.After(now) {
				t.Fatal("hurry must end guesses only")
			}
		}
	})
}

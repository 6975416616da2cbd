package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func newLog(c Config) (*Log, *bytes.Buffer) {
	var b bytes.Buffer
	c.To = &b
	if c.Levels == nil {
		c.Levels = NewLevels(slog.LevelInfo)
	}
	return New(c), &b
}

// Levels change while loggers are in use, for a part or for all, and go back by themselves.
func TestLevels(t *testing.T) {
	l, out := newLog(Config{})
	now := time.Now()
	l.levels.clock = func() time.Time { return now }
	all, api := l.Logger(), l.Logger().With("part", "api")
	said := func() string {
		out.Reset()
		all.Debug("a")
		all.Warn("b")
		api.Debug("c")
		api.WithGroup("g").With("part", "none").Debug("d")
		var words []string
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			if _, msg, ok := strings.Cut(line, "msg="); ok {
				words = append(words, msg[:1])
			}
		}
		return strings.Join(words, "")
	}
	for _, step := range []struct {
		set  Setting
		want string
	}{
		{Setting{Level: slog.LevelInfo}, "b"},
		{Setting{Level: slog.LevelDebug}, "abcd"},
		{Setting{Level: slog.LevelError}, ""},
		{Setting{Level: slog.LevelError, Parts: map[string]slog.Level{"api": slog.LevelDebug}}, "cd"},
		{Setting{Level: slog.LevelDebug, Parts: map[string]slog.Level{"api": slog.LevelWarn}}, "ab"},
		{Setting{Level: slog.LevelDebug, Until: now.Add(time.Minute)}, "abcd"},
	} {
		if err := l.Levels().Set(step.set); err != nil {
			t.Fatal(err)
		}
		if got := said(); got != step.want {
			t.Errorf("%+v: %q, want %q", step.set, got, step.want)
		}
	}
	now = now.Add(time.Minute)
	if got := said(); got != "b" || l.Levels().Get().Level != slog.LevelInfo {
		t.Errorf("after the time: %q, %+v", got, l.Levels().Get())
	}
	err := l.Levels().Set(Setting{Parts: map[string]slog.Level{"apy": 0}})
	if err == nil || !strings.Contains(err.Error(), `no part "apy": there are api, database`) {
		t.Errorf("a part that there is not: %v", err)
	}
}

func TestParseLevel(t *testing.T) {
	for text, want := range map[string]slog.Level{"debug": slog.LevelDebug, "INFO": slog.LevelInfo, "warn": slog.LevelWarn, "Error": slog.LevelError} {
		if got, err := ParseLevel(text); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	if _, err := ParseLevel("loud"); err == nil || err.Error() != `"loud" is none of debug, info, warn, error` {
		t.Errorf("%v", err)
	}
}

// The first lines of a second are written, the rest is counted and said.
func TestSample(t *testing.T) {
	l, out := newLog(Config{PerSecond: 3})
	now := time.Unix(1000, 0)
	l.levels.clock = func() time.Time { return now }
	write := func(level slog.Level, message string, n int) {
		for range n {
			r := slog.NewRecord(now, level, message, 0)
			if err := l.Logger().Handler().Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(slog.LevelInfo, "often", 10)
	write(slog.LevelError, "often", 2)
	write(slog.LevelInfo, "seldom", 1)
	if n := strings.Count(out.String(), "\n"); n != 6 {
		t.Errorf("%d lines, want 3 + 2 + 1:\n%s", n, out)
	}
	if n, err := l.Flush(t.Context()); n != 0 || err != nil {
		t.Errorf("in the same second: %d %v", n, err)
	}
	now = now.Add(time.Second)
	write(slog.LevelInfo, "often", 1)
	now = now.Add(time.Second)
	if n, err := l.Flush(t.Context()); n != 7 || err != nil || !strings.Contains(out.String(), "message=often left_out=7") {
		t.Errorf("%d %v:\n%s", n, err, out)
	}
	if n, _ := l.Flush(t.Context()); n != 0 || len(l.sample.seen) != 0 {
		t.Errorf("said twice: %d; %d kinds are kept", n, len(l.sample.seen))
	}
}

// Messages that are no constants do not fill the memory, and are written.
func TestSampleIsBounded(t *testing.T) {
	l, out := newLog(Config{PerSecond: 1})
	for i := range 2 * mostMessages {
		l.Logger().Info(fmt.Sprint("message ", i))
	}
	if n := strings.Count(out.String(), "\n"); n != 2*mostMessages || len(l.sample.seen) > mostMessages {
		t.Errorf("%d lines, %d kinds", n, len(l.sample.seen))
	}
}

type named struct{ text string }

func (n named) String() string { return n.text }

// Secrets do not come out, in text or JSON, in whatever they stand.
func TestSecrets(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		l, out := newLog(Config{JSON: asJSON, Secrets: []string{"S3CRETrelay", "ab"}})
		log := l.Logger().With("dsn", "postgres://divvy:S3CRETdsn@db/divvy")
		log.Info("calling S3CRETrelay with Bearer S3CRETbearer0123", "token", "S3CRETtoken", "api_token", "S3CRETtoken", "n", 3)
		log.WithGroup("g").Error("x", "error", fmt.Errorf("open: %w", errors.New(`host=db password=S3CRETword user=x`)),
			"body", `{"secret": "S3CRETbody", "name": "kept"}`, "what", named{"token=S3CRETnamed&kept=yes"}, "list", []string{"Authorization: Basic S3CRETbasic"})
		l.Hide("S3CRETlater")
		log.Warn("and S3CRETlater", "took", time.Second, "path", "/v1/tasks?token=S3CRETquery&tokens=S3CRETmany",
			"tokens", []string{"S3CRETone"}, "row", `{"tokens": ["S3CRETtwo", "S3CRETthree"], "secrets": {"a": "S3CRETfour"}, "tokens": "S3CRETfive"} kept=yes`, "file", "token_file: f:2: kept too",
			"found", "in a mail: divvy_0123456789_S3CRET-abc_def and eyJhbGciOiJub25lIn0.eyJTM0NSRVQi.S3CRETsignature")
		text := out.String()
		if strings.Contains(text, "S3CRET") {
			t.Errorf("JSON %v:\n%s", asJSON, text)
		}
		for _, kept := range []string{"divvy:xxxxx@db/divvy", "kept=yes", "host=db", "token_file: f:2: kept too", "divvy_0123456789_xxxxx", "/v1/tasks", "3"} {
			if !strings.Contains(text, kept) {
				t.Errorf("JSON %v: %s is lost:\n%s", asJSON, kept, text)
			}
		}
		if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 3 || asJSON && !json.Valid([]byte(lines[1])) {
			t.Errorf("%d lines:\n%s", len(lines), text)
		}
	}
}

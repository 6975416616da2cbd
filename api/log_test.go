package api

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/logs"
)

// Levels are shown and set, for all and for parts, for good or for a time.
func TestLogLevels(t *testing.T) {
	levels := logs.NewLevels(slog.LevelInfo)
	b := newBench(t, func(c *Config) { c.Levels = levels })
	set := func(body string) wire.LogLevels {
		t.Helper()
		w := b.call("PUT", "/v1/log", body)
		var l wire.LogLevels
		if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return l
	}
	l := set(`{"level":"warn","parts":{"dispatcher":"debug"},"for_s":60}`)
	if l.Level != "warn" || l.Parts["dispatcher"] != "debug" || l.Until == nil || time.Until(*l.Until) > time.Minute {
		t.Errorf("%+v", l)
	}
	if got := levels.Get(); got.Level != slog.LevelWarn || got.Parts["dispatcher"] != slog.LevelDebug {
		t.Errorf("%+v is in force", got)
	}
	var again wire.LogLevels
	if err := json.Unmarshal(b.call("GET", "/v1/log", "").Body.Bytes(), &again); err != nil || again.String() != l.String() {
		t.Errorf("%s, then %s (%v)", l, again, err)
	}
	if l := set(`{"level":"info"}`); l.String() != "info" {
		t.Errorf("%s", l)
	}
	for body, want := range map[string]string{
		`{"level":"loud"}`:                          "level",
		`{"level":"info","parts":{"apy":"debug"}}`:  "there are api, database, dispatcher",
		`{"level":"info","parts":{"api":"louder"}}`: "none of debug, info, warn, error",
		`{"level":"info","for_s":-1}`:               "for_s",
		`{}`:                                        "level",
	} {
		p := b.problem(b.call("PUT", "/v1/log", body), 422)
		if text, _ := json.Marshal(p); !strings.Contains(string(text), want) {
			t.Errorf("%s: %s", body, text)
		}
	}
}

// Nobody changes levels without a token where there is one.
func TestLogLevelsNeedAToken(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Closed = true })
	b.problem(b.call("PUT", "/v1/log", `{"level":"debug"}`), 401)
	b.problem(b.call("GET", "/v1/log", ""), 401)
	if b.server.Levels.Get().Level != slog.LevelInfo {
		t.Error("it was changed")
	}
}

package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/internal/logs"
)

// LogLevels is which lines a daemon logs.
type LogLevels struct {
	Level string            `json:"level" enum:"debug,info,warn,error" doc:"Of all parts that are not named: lines of this level and above are written."`
	Parts map[string]string `json:"parts,omitempty" doc:"Parts with a level of their own: api, database, dispatcher, generator, relay, site, steps."`
	Until *time.Time        `json:"until,omitempty" doc:"Then the level of the configuration is in force again; absent: it stays so until the daemon ends."`
}

// SetLogLevels is the body of PUT /v1/log.
type SetLogLevels struct {
	Level string            `json:"level" enum:"debug,info,warn,error" doc:"Of all parts that are not named."`
	Parts map[string]string `json:"parts,omitempty" doc:"Parts with a level of their own, as in the answer. Those that are not named lose theirs."`
	ForS  float64           `json:"for_s,omitempty" minimum:"0" maximum:"604800" doc:"Seconds after which the level of the configuration is in force again; 0 = never."`
}

type logInput struct{ Body SetLogLevels }

func (s *server) logRoutes() {
	route(s, huma.Operation{
		OperationID: "get-log", Method: http.MethodGet, Path: "/v1/log", Tags: []string{"daemon"}, Summary: "Show which lines this daemon logs",
	}, func(context.Context, *struct{}) (LogLevels, error) { return levelsOf(s.Levels.Get()), nil })
	route(s, huma.Operation{
		OperationID: "set-log", Method: http.MethodPut, Path: "/v1/log", Tags: []string{"daemon"}, Summary: "Say which lines this daemon logs",
		Description: "At once, without a restart, at the daemon that is asked only. A restart forgets it.",
	}, s.setLog)
}

func (s *server) setLog(_ context.Context, in *logInput) (LogLevels, error) {
	bad := func(field, text string) error {
		p := newProblem(codeInvalid, "")
		p.Errors = []Detail{{Location: "body." + field, Message: text}}
		return p
	}
	to := logs.Setting{Parts: map[string]slog.Level{}}
	var err error
	if to.Level, err = logs.ParseLevel(in.Body.Level); err != nil {
		return LogLevels{}, bad("level", err.Error())
	}
	for part, level := range in.Body.Parts {
		if to.Parts[part], err = logs.ParseLevel(level); err != nil {
			return LogLevels{}, bad("parts."+part, err.Error())
		}
	}
	if in.Body.ForS > 0 {
		to.Until = time.Now().Add(time.Duration(in.Body.ForS * float64(time.Second)))
	}
	was := levelsOf(s.Levels.Get())
	if err := s.Levels.Set(to); err != nil {
		return LogLevels{}, bad("parts", err.Error())
	}
	now := levelsOf(s.Levels.Get())
	s.log.Warn("log levels changed", "before", was.String(), "after", now.String()) // at warn: it is to be seen at most levels
	return now, nil
}

func levelsOf(s logs.Setting) LogLevels {
	l := LogLevels{Level: strings.ToLower(s.Level.String()), Parts: map[string]string{}}
	for part, level := range s.Parts {
		l.Parts[part] = strings.ToLower(level.String())
	}
	if !s.Until.IsZero() {
		until := s.Until.UTC()
		l.Until = &until
	}
	return l
}

// String is the levels on one line: info, api=debug, until 10:00:00.
func (l LogLevels) String() string {
	text := l.Level
	for _, part := range logs.Parts {
		if level, ok := l.Parts[part]; ok {
			text += ", " + part + "=" + level
		}
	}
	if l.Until != nil {
		text += ", until " + l.Until.Format(time.RFC3339)
	}
	return text
}

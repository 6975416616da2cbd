package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/logs"
)

type logInput struct{ Body wire.SetLogLevels }

func (s *server) logRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "get-log", Method: http.MethodGet, Path: "/v1/log", Tags: []string{"daemon"}, Summary: "Show which lines this daemon logs",
	}, func(context.Context, *struct{}) (wire.LogLevels, error) { return levelsOf(s.Levels.Get()), nil })
	route(s.doc, huma.Operation{
		OperationID: "set-log", Method: http.MethodPut, Path: "/v1/log", Tags: []string{"daemon"}, Summary: "Set which lines this daemon logs",
		Description: "Takes effect at once, on this daemon only. A restart forgets it.",
	}, s.setLog)
}

func (s *server) setLog(_ context.Context, in *logInput) (wire.LogLevels, error) {
	bad := func(field, text string) error {
		p := problem.New(problem.Invalid, "")
		p.Errors = []wire.Detail{{Location: "body." + field, Message: text}}
		return p
	}
	to := logs.Setting{Parts: map[string]slog.Level{}}
	var err error
	if to.Level, err = logs.ParseLevel(in.Body.Level); err != nil {
		return wire.LogLevels{}, bad("level", err.Error())
	}
	for part, level := range in.Body.Parts {
		if to.Parts[part], err = logs.ParseLevel(level); err != nil {
			return wire.LogLevels{}, bad("parts."+part, err.Error())
		}
	}
	if in.Body.ForS > 0 {
		to.Until = time.Now().Add(time.Duration(in.Body.ForS * float64(time.Second)))
	}
	was := levelsOf(s.Levels.Get())
	if err := s.Levels.Set(to); err != nil {
		return wire.LogLevels{}, bad("parts", err.Error())
	}
	now := levelsOf(s.Levels.Get())
	s.log.Warn("log levels changed", "before", was.String(), "after", now.String()) // a warning, so that most levels show it
	return now, nil
}

func levelsOf(s logs.Setting) wire.LogLevels {
	l := wire.LogLevels{Level: strings.ToLower(s.Level.String()), Parts: map[string]string{}}
	for part, level := range s.Parts {
		l.Parts[part] = strings.ToLower(level.String())
	}
	if !s.Until.IsZero() {
		until := s.Until.UTC()
		l.Until = &until
	}
	return l
}

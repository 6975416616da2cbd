package logs

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Parts are the parts of a daemon that may have a level of their own.
var Parts = []string{"api", "database", "dispatcher", "generator", "relay", "site", "steps"}

// Levels is which lines are wanted. The zero value is not usable: see NewLevels.
type Levels struct {
	start slog.Level
	now   atomic.Pointer[Setting]
	clock func() time.Time
}

// Setting is what Levels may be set to.
type Setting struct {
	Level slog.Level
	Parts map[string]slog.Level // those that differ
	Until time.Time             // then the level of the configuration is in force again; zero: for good
}

// NewLevels starts with one level for all.
func NewLevels(start slog.Level) *Levels {
	l := &Levels{start: start, clock: time.Now}
	l.now.Store(&Setting{Level: start})
	return l
}

// Get is what is in force.
func (l *Levels) Get() Setting {
	s := l.now.Load()
	if !s.Until.IsZero() && !l.clock().Before(s.Until) {
		return Setting{Level: l.start}
	}
	return Setting{Level: s.Level, Parts: maps.Clone(s.Parts), Until: s.Until}
}

// Set puts s in force. A part that there is not is an error that names those there are.
func (l *Levels) Set(s Setting) error {
	for part := range s.Parts {
		if !slices.Contains(Parts, part) {
			return fmt.Errorf("no part %q: there are %s", part, strings.Join(Parts, ", "))
		}
	}
	s.Parts = maps.Clone(s.Parts)
	l.now.Store(&s)
	return nil
}

func (l *Levels) wants(part string, level slog.Level) bool {
	s := l.now.Load()
	if !s.Until.IsZero() && !l.clock().Before(s.Until) {
		return level >= l.start
	}
	if own, ok := s.Parts[part]; ok {
		return level >= own
	}
	return level >= s.Level
}

// ParseLevel reads debug, info, warn or error.
func ParseLevel(text string) (slog.Level, error) {
	switch strings.ToLower(text) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("%q is none of debug, info, warn, error", text)
}

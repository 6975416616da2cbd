package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dateForms are the ways in which PanDA's programs write a time, always of UTC unless they say where. Go reads a fraction of
// a second where the form has none, and months in any case.
var dateForms = []string{"02-Jan-06 15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05", time.RFC3339, "02-Jan-06", "2006-01-02"}

// TimeOf reads a time; nil for none. Harvester puts the word datetime before those that it has packed.
func TimeOf(s string) (*time.Time, error) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "datetime/")
	if s == "" {
		return nil, nil
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			t = t.UTC()
			return &t, nil
		}
	}
	return nil, fmt.Errorf("expected a time such as 02-NOV-24 00:02:18 or 2024-11-02 00:02:18, got %q", s)
}

// PandaTime is a time in answers; nil for none.
func PandaTime(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// Clean removes from a text what the database cannot store.
func Clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "") }

// CleanAll is clean for all texts in a value.
func CleanAll(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = CleanAll(v[i])
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name := range v {
			all[Clean(name)] = CleanAll(v[name])
		}
		return all
	}
	return v
}

// Numeral is a number that was read without arguments' care in the form that they have.
func Numeral(v any) any {
	if f, ok := v.(float64); ok {
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return v
}

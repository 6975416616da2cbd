package panda

import (
	"encoding/json"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// maxField bounds a text that is kept, in bytes.
const maxField = 1000

// cut keeps the begin of a text, whole characters of it.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}

// tail keeps its end.
func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	from := len(s) - most
	for from < len(s) && s[from]&0xc0 == 0x80 {
		from++
	}
	return s[from:]
}

// unwrap reads JSON that was sent as a string in JSON; what is none stays a string. nil for nothing.
func unwrap(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if s == "" {
		return nil
	}
	var inner any
	if strict.ManyValues([]byte(s), maxValues) || json.Unmarshal([]byte(s), &inner) != nil {
		return s
	}
	return inner
}

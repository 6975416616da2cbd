package wire

import (
	"encoding/json"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// MaxField bounds a text that is kept, in bytes.
const MaxField = 1000

// Cut keeps the beginning of a text, in whole characters.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}

// Tail keeps its end.
func Tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	from := len(s) - most
	for from < len(s) && s[from]&0xc0 == 0x80 {
		from++
	}
	return s[from:]
}

// Unwrap reads JSON that was sent as a string in JSON; any other string stays as it is. It returns nil for nothing.
func Unwrap(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if s == "" {
		return nil
	}
	var inner any
	if strict.ManyValues([]byte(s), MaxValues) || json.Unmarshal([]byte(s), &inner) != nil {
		return s
	}
	return inner
}

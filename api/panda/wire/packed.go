package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// Words splits a text at commas.
func Words(v any) any {
	text, ok := ToText(v)
	if !ok {
		return v
	}
	var all []any
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		all = append(all, w)
	}
	return all
}

// Packed reads a list, an object or a text that was sent as JSON in a string. Any other value stays as it is.
func Packed(v any) any {
	left := MaxValues
	return PackedIn(v, &left)
}

// PackedIn is packed for one of several arguments, which may have so many values left.
func PackedIn(v any, left *int) any {
	text, ok := v.(string)
	if !ok || text == "" || !strings.ContainsRune(`[{"`, rune(text[0])) {
		return v
	}
	if *left -= strict.Values([]byte(text), *left); *left <= 0 {
		return v
	}
	var inner any
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	if d.Decode(&inner) != nil || d.More() {
		return v
	}
	return inner
}

package job

import (
	"fmt"
	"strings"
	"unicode"
)

// maxImage is the longest name of an image, in bytes.
const maxImage = 1000

// checkImage wants the begin to be a letter, a digit or a slash: no runtime then takes the name for an option.
func (p Payload) checkImage() error {
	switch text := p.Image; {
	case text == "":
		return nil
	case len(text) > maxImage:
		return &FieldError{Field: "image", Value: fmt.Sprintf("%.20q…", text), Want: fmt.Sprintf("a name of at most %d bytes", maxImage)}
	case !imageBegins(text[0]), strings.ContainsFunc(plain(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return &FieldError{Field: "image", Value: fmt.Sprintf("%.200q", text), Want: "the name of an image such as docker.io/library/python:3.13, or an absolute path"}
	}
	return p.check("image", p.Image)
}

func imageBegins(c byte) bool {
	return c == '/' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// plain is a text without what stands in braces, which may have spaces there.
func plain(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "}}")
	}
}

package job

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrInvalid says that the request says something that cannot be; see FieldError.
var ErrInvalid = errors.New("invalid request")

// FieldError is an ErrInvalid that names the field, what is wrong with it and what would be right.
type FieldError struct {
	Field string // as in the request's JSON, for instance slot.cores
	Value any
	Want  string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %v is not %s", e.Field, e.Value, e.Want)
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Unwrap() error { return ErrInvalid }

// Wrong makes a FieldError.
func Wrong(field string, value any, want string) error { return &FieldError{field, value, want} }

// MostName bounds each name in a pull, in bytes: 200 characters of any kind.
const MostName = 800

const aText = "text in UTF-8 without U+0000"

// WrongName says whether a text is no name: too long, or nothing that a database takes.
func WrongName(s string) bool { return len(s) > MostName || !Storable(s) }

// BadName is the FieldError about a text that WrongName refuses.
func BadName(field, s string) error {
	if len(s) > MostName {
		return &FieldError{field, fmt.Sprintf("a name of %d bytes", len(s)), fmt.Sprintf("at most %d", MostName)}
	}
	return &FieldError{field, fmt.Sprintf("%q", s), aText}
}

// Storable says whether the database takes a text.
func Storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

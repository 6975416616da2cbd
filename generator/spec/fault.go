package spec

import (
	"errors"
	"strings"
)

// Fault is one thing that is wrong with a field of a task.
type Fault struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`

	absent []string // the fault is that none of these keys is there
}

// String is field: message (hint).
func (f Fault) String() string {
	text := f.Field + ": " + f.Message
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// Faults is an ErrInvalid that says all that is wrong.
type Faults []Fault

func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (fs Faults) Unwrap() error { return ErrInvalid }

// maxFaults is how many faults of a task are told.
const maxFaults = 100

// Add adds what is wrong with a field; no more than a hundred are told.
func (fs *Faults) Add(field, message, hint string) {
	if len(*fs) < maxFaults {
		*fs = append(*fs, Fault{Field: field, Message: message, Hint: hint})
	}
}

// Err is nil when nothing is wrong.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// Invalid is the error that one thing is wrong.
func Invalid(field, message, hint string) error {
	return Faults{{Field: field, Message: message, Hint: hint}}
}

// ErrInvalid says that the specification cannot be; Faults names every field that is wrong. (422)
var ErrInvalid = errors.New("invalid task")

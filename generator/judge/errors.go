package judge

import (
	"errors"
	"fmt"
)

// ErrState says that the task is in a state in which this cannot be done; see StateError. (409)
var ErrState = errors.New("not in this state")

// StateError is an ErrState that says what was asked of which task, and what state forbids it.
type StateError struct {
	Task  int64
	Verb  string
	State string
	Hint  string
}

func (e *StateError) Error() string {
	text := fmt.Sprintf("task %d is %s: cannot %s", e.Task, e.State, e.Verb)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap makes errors.Is(err, ErrState) true.
func (e *StateError) Unwrap() error { return ErrState }

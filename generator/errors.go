package generator

import (
	"errors"
	"fmt"
)

// Sentinels of the package; api/problem maps each to a status.
var (
	// ErrKeyReused: the Idempotency-Key was used before with another body. (422)
	ErrKeyReused = errors.New("idempotency key used before with another body")
	// ErrState: the task is in a state in which this cannot be done; see StateError. (409)
	ErrState = errors.New("not in this state")
	// ErrSiteChanged: the task's share was removed by a site version that this daemon does not see yet. (503: again)
	ErrSiteChanged = errors.New("the site has just changed, try again")
	// ErrOffset: inputs were sent for another place than the next; see OffsetError. (409)
	ErrOffset = errors.New("wrong offset")
)

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

// OffsetError is an ErrOffset that names the offset to go on from.
type OffsetError struct {
	Sent int64
	Want int64 // inputs stored so far
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("offset %d does not go on from the %d inputs stored: send from offset %d", e.Sent, e.Want, e.Want)
}

// Unwrap makes errors.Is(err, ErrOffset) true.
func (e *OffsetError) Unwrap() error { return ErrOffset }

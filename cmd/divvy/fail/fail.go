package fail

import (
	"errors"
	"fmt"
)

// Exit codes of every subcommand.
const (
	OK     = 0
	Failed = 1
	Usage  = 2
)

// Code ends a command with an exit code of its own; all was said already.
type Code int

func (c Code) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// UsageError is a command line that makes no sense, whatever the server says.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// Hinted is an error with a way out, shown on a line of its own.
type Hinted struct {
	err  error
	Hint string
}

func (e Hinted) Error() string { return e.err.Error() }
func (e Hinted) Unwrap() error { return e.err }

// Hintf gives an error a way out.
func Hintf(err error, format string, args ...any) error {
	return Hinted{err, fmt.Sprintf(format, args...)}
}

// ErrSilent ends a command with Failed when all was said already.
var ErrSilent = errors.New("failed")

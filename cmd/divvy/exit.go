package main

import (
	"errors"
	"fmt"
)

// Exit codes of every subcommand.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// exitError ends a command with a code of its own; all was said already.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError is a command line that makes no sense, whatever the server says.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// hinted is an error with a way out, shown on a line of its own.
type hinted struct {
	err  error
	hint string
}

func (e hinted) Error() string { return e.err.Error() }
func (e hinted) Unwrap() error { return e.err }

func hintf(err error, format string, args ...any) error {
	return hinted{err, fmt.Sprintf(format, args...)}
}

// errSilent ends a command with exitFailed when all was said already.
var errSilent = errors.New("failed")

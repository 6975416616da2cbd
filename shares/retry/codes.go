package retry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Codes is what codes mean, as the operator of a site says it; it goes before what is built in.
type Codes []Meaning

// Meaning is one line of exit_codes.
type Meaning struct {
	Source string // whose code; Payload where it is not said
	Range  Range
	Text   string
}

// Of returns what a code of a source means; empty if not known.
func (c Codes) Of(source string, code int64) string {
	for _, m := range c {
		if m.Source == source && m.Range.Low <= code && code <= m.Range.High {
			return m.Text
		}
	}
	switch source {
	case Payload, "exe":
		return ofPayload(code)
	case "pilot":
		return pandaPilot[code]
	}
	return ""
}

// Explain returns what the codes of an attempt mean; empty if none is known.
func (c Codes) Explain(f *Failure) string {
	var words []string
	codes := f.Codes()
	for _, source := range slices.Sorted(maps.Keys(codes)) {
		if text := c.Of(source, codes[source]); text != "" && source == Payload {
			words = append(words, text)
		} else if text != "" {
			words = append(words, source+": "+text)
		}
	}
	return strings.Join(words, "; ")
}

// signals by number, as Linux has them on most machines.
var signals = map[int64]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
	10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS"}

// causes are what those signals usually mean for a job.
var causes = map[int64]string{6: "it gave up by itself, as after a failed assertion", 9: "often out of memory, or killed by the batch system",
	11: "it touched memory that is not its own", 15: "it was told to end", 24: "the limit of CPU time", 25: "a file grew above its limit"}

// shell are the exit codes that shells, timeout(1) and sysexits.h agree on.
var shell = map[int64]string{
	1: "general error", 2: "wrong usage of a command", 64: "wrong usage", 65: "wrong input", 66: "an input cannot be opened",
	67: "unknown user", 68: "unknown host", 69: "a service is not available", 70: "internal error", 71: "error of the operating system",
	72: "a file of the system is missing", 73: "an output cannot be made", 74: "error of input or output", 75: "a failure that may pass: try again",
	76: "error of a protocol", 77: "no permission", 78: "wrong configuration", 124: "timeout(1) ended it", 125: "the wrapper itself failed, as timeout(1) or docker run",
	126: "the program cannot be executed", 127: "the program was not found", 255: "exit code out of range, or ssh failed",
}

// ofPayload is the meaning of an exit code of a process.
func ofPayload(code int64) string {
	if text := shell[code]; text != "" {
		return text
	}
	n := code - 128
	if code < 0 {
		n = -code // as Python says it
	}
	name := signals[n]
	switch {
	case name == "":
		return ""
	case causes[n] != "":
		return fmt.Sprintf("ended by %s: %s", name, causes[n])
	}
	return "ended by " + name
}

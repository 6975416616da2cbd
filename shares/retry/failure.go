package retry

import (
	"encoding/json"
	"strings"
	"time"
)

// Outcomes that are judged.
const (
	Failed = "failed"
	Lost   = "lost"
)

// Payload is the source of an exit code.
const Payload = "payload"

// Failure is an attempt that did not finish.
type Failure struct {
	Outcome  string
	ExitCode *int // of the payload's process; nil: unknown
	Message  string
	Report   map[string]any // what its pilot reported beside; fields like pilotErrorCode are codes of a source
	Label    string         // of the task

	MemoryMB int64 // peak, as the pilot reported it
	Took     time.Duration
}

// codeSuffix ends the names of those fields of a report that are codes; what stands before it is their source.
const codeSuffix = "ErrorCode"

// Code returns the code that a source gave: the payload's exit code, or a field of the report. 0 is no error.
func (f *Failure) Code(source string) (code int64, ok bool) {
	if source == Payload {
		if f.ExitCode != nil {
			return int64(*f.ExitCode), *f.ExitCode != 0
		}
		source = "exe" // what PanDA's pilots call it
	}
	return whole(f.Report[source+codeSuffix])
}

// Codes returns all codes that were given, by source.
func (f *Failure) Codes() map[string]int64 {
	codes := map[string]int64{}
	for name, value := range f.Report {
		source, is := strings.CutSuffix(name, codeSuffix)
		if code, ok := whole(value); is && ok {
			codes[source] = code
		}
	}
	if code, ok := f.Code(Payload); ok {
		delete(codes, "exe")
		codes[Payload] = code
	}
	return codes
}

// whole reads a number that was decoded in one way or another; 0 is no code.
func whole(value any) (n int64, ok bool) {
	switch v := value.(type) {
	case int64:
		n = v
	case int:
		n = int64(v)
	case float64:
		n = int64(v)
	case json.Number:
		n, _ = v.Int64()
	}
	return n, n != 0
}

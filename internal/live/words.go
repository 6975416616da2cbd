package live

import (
	"strings"
	"time"
)

// Stream is one of the two streams of a process.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

var streams = [2]Stream{Stdout, Stderr}

// place is the position of a stream in arrays, or -1.
func (s Stream) place() int {
	switch s {
	case Stdout:
		return 0
	case Stderr:
		return 1
	}
	return -1
}

// OutputReport is what a pilot sends of its attempts' output, and its question what is wanted.
type OutputReport struct {
	Pilot  string        `json:"pilot" minLength:"1" maxLength:"200" doc:"Name of the pilot, as in its pulls."`
	Chunks []OutputChunk `json:"chunks,omitempty" maxItems:"1000" required:"false" doc:"At most 2 MiB of data together."`
	WaitS  float64       `json:"wait_s" minimum:"0" maximum:"60" required:"false" doc:"Seconds to wait until something is wanted."`
}

// OutputChunk is a piece of a stream, in answer to an OutputWanted.
type OutputChunk struct {
	Lease  string `json:"lease" minLength:"1" maxLength:"200" doc:"Of the attempt. It may have ended, if chunks of it came before."`
	Stream Stream `json:"stream" enum:"stdout,stderr"`
	Wanted int64  `json:"wanted" doc:"The from of the OutputWanted that it answers."`
	Offset int64  `json:"offset" minimum:"0" doc:"Of its first byte in the stream. It is after from where the bytes before it are left out."`
	Data   []byte `json:"data,omitempty" required:"false"`
	End    bool   `json:"end,omitempty" required:"false" doc:"The attempt has ended, and this is the end of the stream."`
}

// OutputReply says which output is wanted of a pilot. Send it as it is written, at most once a second if there is little.
type OutputReply struct {
	Wanted []OutputWanted `json:"wanted"`
}

// OutputWanted is a stream that is followed.
type OutputWanted struct {
	Job     int64  `json:"job"`
	Attempt int    `json:"attempt"`
	Stream  Stream `json:"stream"`
	From    int64  `json:"from" doc:"First byte that is wanted; -n: the last n bytes. Of more than 1 MiB only the last one."`
}

// Key names an attempt.
type Key struct {
	Job     int64
	Attempt int
}

// Chunk is an OutputChunk whose lease was looked up.
type Chunk struct {
	OutputChunk
	Key
	Runs bool // The lease is that of the attempt, and runs.
}

// Question asks for what an attempt wrote.
type Question struct {
	Key
	Pilot string        // That runs it; empty: it is over, and only what is known already is asked for.
	From  [2]int64      // First byte of stdout and of stderr; -n: the last n bytes.
	Most  int           // Bytes of each stream at the most; 0: Limits.Piece.
	Wait  time.Duration // For something to be there.
}

// Answer is what an attempt wrote.
type Answer struct {
	Pieces []Piece
	Known  bool // Something is, or will be.
	Ended  bool // The attempt has ended, and there is nothing behind the pieces.
}

// Piece is a part of a stream.
type Piece struct {
	Stream Stream
	Offset int64
	Data   []byte
}

// Text returns pieces of both streams as people read them: with a heading for each, if there are both.
func Text(pieces []Piece) string {
	var b strings.Builder
	for i, p := range pieces {
		if len(pieces) > 1 {
			b.WriteString("--- " + string(p.Stream) + "\n")
		}
		text := strings.ToValidUTF8(string(p.Data), "\uFFFD")
		b.WriteString(text)
		if i+1 < len(pieces) && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Limits bound the memory. A zero field has the default.
type Limits struct {
	Stream   int           // Bytes of one stream; 1 MiB.
	All      int           // Bytes of all streams; 64 MiB.
	Piece    int           // Bytes of one stream in one answer; 256 KiB.
	Followed time.Duration // How long an attempt is followed after a Read; 10 s.
	Settle   time.Duration // How long the end of an ended attempt's output may take; 5 s.
	Keep     time.Duration // How long output is kept that is not read; 5 min.
}

func (l Limits) complete() Limits {
	set := func(n *int, usual int) {
		if *n <= 0 {
			*n = usual
		}
	}
	set(&l.Stream, 1<<20)
	set(&l.All, 64<<20)
	set(&l.Piece, 256<<10)
	for d, usual := range map[*time.Duration]time.Duration{&l.Followed: 10 * time.Second, &l.Settle: 5 * time.Second, &l.Keep: 5 * time.Minute} {
		if *d <= 0 {
			*d = usual
		}
	}
	return l
}

package cli

import (
	"io"
	"os"
)

// Streams are the ends of a command. Tests put buffers here; a buffer is never a terminal.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// StandardStreams are those of the process.
func StandardStreams() Streams {
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
}

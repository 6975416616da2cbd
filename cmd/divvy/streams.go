package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// streams are the ends of a command. Tests put buffers here; a buffer is never a terminal.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func standardStreams() streams {
	return streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
}

// terminal says whether w is a terminal, and how wide it is.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 80, true
	}
	return width, true
}

// colourful says whether w takes colours: a terminal that can, and nobody said NO_COLOR.
func colourful(w io.Writer) bool {
	_, ok := terminal(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

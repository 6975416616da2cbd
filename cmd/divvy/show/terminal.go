package show

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal says whether w is a terminal, and how wide it is.
func Terminal(w io.Writer) (width int, ok bool) {
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

// Colourful reports whether w shows colours: it is a terminal that can, and NO_COLOR is not set.
func Colourful(w io.Writer) bool {
	_, ok := Terminal(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

package run

import (
	"fmt"
	"io"
	"sync"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/cmd/divvy/work"
)

// printer writes what jobs wrote, messages, and on a terminal a line of progress below all of it.
type printer struct {
	out, err io.Writer
	quiet    bool
	live     bool // stderr is a terminal
	width    int

	mu    sync.Mutex
	drawn bool // the line of progress is there
}

func newPrinter(c *cli.CLI, quiet bool) *printer {
	p := &printer{out: c.Out, err: c.Err, quiet: quiet}
	p.width, p.live = show.Terminal(c.Err)
	return p
}

// say writes a message to stderr.
func (p *printer) say(format string, args ...any) {
	if !p.quiet {
		p.always(format, args...)
	}
}

func (p *printer) always(format string, args ...any) {
	p.write("stderr", "divvy: "+fmt.Sprintf(format, args...)+"\n")
}

// write writes text to stdout, or stderr, above the line of progress.
func (p *printer) write(stream, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	io.WriteString(show.Pick(stream == "stderr", p.err, p.out), text)
}

// progress draws the line of progress.
func (p *printer) progress(line string) {
	if !p.live || p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	work.WriteLine(p.err, line, p.width, true)
	p.drawn = true
}

func (p *printer) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *printer) erase() {
	if p.drawn {
		io.WriteString(p.err, "\r\x1b[K")
		p.drawn = false
	}
}

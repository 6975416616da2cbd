package run

import "strings"

// lines puts a prefix before each line of one stream of a job. It writes whole lines, so that those of jobs that run beside each other
// do not mix; without a prefix what comes goes out as it is.
type lines struct {
	prefix string
	write  func(text string)
	rest   strings.Builder // of a line that has no end yet
}

// mostLine is how long a line without an end may grow before it is written all the same.
const mostLine = 64 << 10

func (l *lines) add(text string) {
	if l.prefix == "" {
		l.write(text)
		return
	}
	l.rest.WriteString(text)
	all := l.rest.String()
	end := strings.LastIndexByte(all, '\n') + 1
	if end == 0 && len(all) > mostLine {
		end = len(all)
	}
	if end == 0 {
		return
	}
	l.rest.Reset()
	l.rest.WriteString(all[end:])
	l.print(all[:end])
}

// close writes what is left of a line.
func (l *lines) close() {
	if rest := l.rest.String(); rest != "" {
		l.rest.Reset()
		l.print(rest)
	}
}

func (l *lines) print(text string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(l.prefix)
		b.WriteString(line)
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	l.write(b.String())
}

package swf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	nColumn = 18
	// maxLine bounds a line; records have about a hundred bytes.
	maxLine = 64 << 10
	// maxFigure bounds seconds and processors, so that thousandths and nanoseconds of them fit: seconds of 68 years.
	maxFigure = 1 << 31
	// MaxProblems is how many broken records are told, and after how many Read gives up when it is strict.
	MaxProblems = 20
)

// columns name the 18 columns for messages.
var columns = [nColumn]string{"job number", "submit time", "wait time", "run time", "processors", "CPU time", "memory",
	"requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
	"partition", "preceding job", "think time"}

// kind says how a column is read.
type kind int

const (
	unused kind = iota // whatever stands there
	amount             // seconds, processors: a whole number up to maxFigure
	number             // of a user, a queue …: a whole number
	mean               // a number up to maxFigure
)

var kinds = [nColumn]kind{0: number, 1: amount, 3: amount, 4: amount, 5: mean, 7: amount, 11: number, 12: number, 13: number,
	14: number, 15: number}

// Trace is a whole file.
type Trace struct {
	MaxProcs int64 // processors of the machine, as the head says; 0 when it does not
	Records  []Record
	NBroken  int      // lines that are no record
	Broken   Problems // the first of them
}

// Problem is one line that is broken.
type Problem struct {
	File    string
	Line    int
	Message string
}

func (p Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message) }

// Problems is what is wrong with a trace, in the order of the file, at most MaxProblems.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Read reads a trace; name is for messages. Broken records are left out and counted, unless it is strict: then they are the
// error. The error is Problems, which a trace without any record is too, or what the reader had.
func Read(name string, r io.Reader, strict bool) (*Trace, error) {
	var t Trace
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4096), maxLine)
	n := 0
	for !(strict && t.NBroken == MaxProblems) && lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		if head, isComment := strings.CutPrefix(text, ";"); isComment {
			t.head(head)
			continue
		}
		rec, err := parse(text)
		if err != nil {
			t.broken(Problem{name, n, err.Error()})
			continue
		}
		rec.Line = n
		t.Records = append(t.Records, rec)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, append(t.Broken, Problem{name, n + 1, fmt.Sprintf("the line is longer than %d bytes; a record is one line of %d columns", maxLine, nColumn)})
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case t.NBroken > 0 && (strict || len(t.Records) == 0):
		return nil, t.Broken
	case len(t.Records) == 0:
		return nil, Problems{{name, max(n, 1), fmt.Sprintf("no record; a job is a line of %d columns", nColumn)}}
	}
	return &t, nil
}

func (t *Trace) broken(p Problem) {
	t.NBroken++
	if len(t.Broken) < MaxProblems {
		t.Broken = append(t.Broken, p)
	}
}

// head keeps what a comment of the head says, as far as it is used; any other comment is prose.
func (t *Trace) head(comment string) {
	key, value, _ := strings.Cut(comment, ":")
	if strings.TrimSpace(key) != "MaxProcs" {
		return
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && n > 0 && n <= maxFigure {
		t.MaxProcs = n
	}
}

// parse reads the first columns of a line; some archives have added others behind them.
func parse(text string) (Record, error) {
	fields := strings.Fields(text)
	if len(fields) < nColumn {
		return Record{}, fmt.Errorf("%d columns; a record has %d, separated by blanks, -1 where something is unknown", len(fields), nColumn)
	}
	var whole [nColumn]int64
	var cpu float64
	for i, f := range fields[:nColumn] {
		switch kinds[i] {
		case amount, number:
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil || n < Unknown || kinds[i] == amount && n > maxFigure {
				if i != 7 || whole[4] <= 0 {
					return Record{}, wrong(i, f, "a whole number")
				}
				n = Unknown // and not needed
			}
			whole[i] = n
		case mean:
			n, err := strconv.ParseFloat(f, 64)
			if err != nil || math.IsNaN(n) || n > maxFigure || n < 0 && n != Unknown {
				if whole[3] < 0 {
					return Record{}, wrong(i, f, "a number")
				}
				n = Unknown // and not needed
			}
			cpu = n
		}
	}
	return Record{Job: whole[0], Submit: whole[1], Run: whole[3], Processors: whole[4], CPU: cpu, Requested: whole[7],
		User: whole[11], Group: whole[12], Executable: whole[13], Queue: whole[14], Partition: whole[15]}, nil
}

func wrong(column int, text, want string) error {
	return fmt.Errorf("column %d, %s, is %q: want %s, at least 0, or -1 for unknown", column+1, columns[column], text, want)
}

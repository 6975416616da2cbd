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
	// maxFigure bounds every figure, so that thousandths and nanoseconds of it fit: seconds of 68 years.
	maxFigure = 1 << 31
	// MaxProblems is after how many wrong lines Read gives up.
	MaxProblems = 20
)

// columns name the 18 columns for messages.
var columns = [nColumn]string{"job number", "submit time", "wait time", "run time", "processors", "CPU time", "memory",
	"requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
	"partition", "preceding job", "think time"}

// decimal are the columns that may have a fraction: averages, and what is given in other units by some archives.
var decimal = [nColumn]bool{5: true, 6: true, 9: true}

// Trace is a whole file.
type Trace struct {
	MaxProcs int64 // processors of the machine, as the head says; 0 when it does not
	Records  []Record
}

// Problem is one line that is wrong.
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

// Read reads a trace; name is for messages. The error is Problems, or what the reader had.
func Read(name string, r io.Reader) (*Trace, error) {
	var t Trace
	var problems Problems
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4096), maxLine)
	n := 0
	for lines.Scan() && len(problems) < MaxProblems {
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
			problems = append(problems, Problem{name, n, err.Error()})
			continue
		}
		rec.Line = n
		t.Records = append(t.Records, rec)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		problems = append(problems, Problem{name, n + 1, fmt.Sprintf("the line is longer than %d bytes; a record is one line of %d columns", maxLine, nColumn)})
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if len(t.Records) == 0 {
		return nil, Problems{{name, max(n, 1), fmt.Sprintf("no record; a job is a line of %d columns", nColumn)}}
	}
	return &t, nil
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

func parse(text string) (Record, error) {
	fields := strings.Fields(text)
	if len(fields) != nColumn {
		return Record{}, fmt.Errorf("%d columns; a record has %d, separated by blanks, -1 where something is unknown", len(fields), nColumn)
	}
	var whole [nColumn]int64
	var cpu float64
	for i, f := range fields {
		if !decimal[i] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil || n < Unknown || n > maxFigure {
				return Record{}, wrong(i, f, "a whole number")
			}
			whole[i] = n
			continue
		}
		n, err := strconv.ParseFloat(f, 64)
		if err != nil || math.IsNaN(n) || n > maxFigure || n < 0 && n != Unknown {
			return Record{}, wrong(i, f, "a number")
		}
		if i == 5 {
			cpu = n
		}
	}
	return Record{Job: whole[0], Submit: whole[1], Wait: whole[2], Run: whole[3], Processors: whole[4], CPU: cpu, Requested: whole[7],
		Status: whole[10], User: whole[11], Group: whole[12], Executable: whole[13], Queue: whole[14], Partition: whole[15]}, nil
}

func wrong(column int, text, want string) error {
	return fmt.Errorf("column %d, %s, is %q: want %s, at least 0, or -1 for unknown", column+1, columns[column], text, want)
}

package slurm

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Column is one of a list.
type Column struct {
	Title string
	Width int  // 0 = as wide as its text
	Left  bool // else to the right
	Text  string
	value func(*Row) string
}

// queueLetters are the columns of squeue -o.
var queueLetters = map[byte]struct {
	title string
	value func(*Row) string
}{
	'i': {"JOBID", (*Row).ID},
	'A': {"JOBID", (*Row).RawID},
	'F': {"ARRAY_JOB_ID", func(r *Row) string { return strconv.FormatInt(r.Job, 10) }},
	'K': {"ARRAY_TASK_ID", func(r *Row) string {
		switch {
		case r.Array == nil:
			return "N/A"
		case r.Piece < 0:
			return r.Array.String()
		}
		return strconv.FormatInt(r.Piece, 10)
	}},
	'T': {"STATE", func(r *Row) string { return string(r.State) }},
	't': {"ST", func(r *Row) string { return r.State.Short() }},
	'j': {"NAME", func(r *Row) string { return r.Who.Name }},
	'u': {"USER", func(r *Row) string { return r.Who.User }},
	'P': {"PARTITION", func(r *Row) string { return r.Who.Partition }},
	'a': {"ACCOUNT", func(r *Row) string { return orNull(r.Who.Account) }},
	'M': {"TIME", func(r *Row) string { return FormatTime(r.Elapsed()) }},
	'l': {"TIME_LIMIT", func(r *Row) string { return r.limit(FormatTime) }},
	'L': {"TIME_LEFT", (*Row).left},
	'D': {"NODES", func(*Row) string { return "1" }},
	'C': {"CPUS", func(r *Row) string { return strconv.Itoa(r.Size.CPUs) }},
	'c': {"MIN_CPUS", func(r *Row) string { return strconv.Itoa(r.Size.CPUs) }},
	'm': {"MIN_MEMORY", func(r *Row) string { return memory(r.Size.MemoryMB) }},
	'N': {"NODELIST", func(r *Row) string { return r.Node }},
	'B': {"EXEC_HOST", func(r *Row) string { return orNA(r.Node) }},
	'R': {"NODELIST(REASON)", func(r *Row) string {
		if r.State == Pending || r.Node == "" {
			return "(" + r.reason() + ")"
		}
		return r.Node
	}},
	'r': {"REASON", (*Row).reason},
	'S': {"START_TIME", func(r *Row) string { return moment(r.At.Start, "N/A") }},
	'e': {"END_TIME", func(r *Row) string { return moment(r.At.End, "N/A") }},
	'V': {"SUBMIT_TIME", func(r *Row) string { return moment(r.At.Submit, "N/A") }},
	'Q': {"PRIORITY", func(r *Row) string { return strconv.Itoa(r.Who.Priority) }},
	'p': {"PRIORITY", func(r *Row) string { return strconv.Itoa(r.Who.Priority) }},
	'Z': {"WORK_DIR", func(r *Row) string { return r.Who.Dir }},
	'k': {"COMMENT", func(r *Row) string { return orNull(r.Who.Comment) }},
	'b': {"TRES_PER_NODE", func(*Row) string { return "N/A" }},
	'q': {"QOS", func(*Row) string { return "normal" }},
	'f': {"FEATURES", func(*Row) string { return "(null)" }},
	'E': {"DEPENDENCY", func(*Row) string { return "(null)" }},
}

func orNull(s string) string {
	if s == "" {
		return "(null)"
	}
	return s
}

func orNA(s string) string {
	if s == "" {
		return "n/a"
	}
	return s
}

func memory(mb int64) string {
	if mb == 0 {
		return "0"
	}
	return strconv.FormatInt(mb*1_000_000>>20, 10) + "M"
}

// QueueFormat is that of squeue without -o.
const QueueFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"

// ParseQueueFormat reads a format of squeue: text and %[[.]width]letter. A letter that divvy has no column for is refused.
func ParseQueueFormat(format string) ([]Column, error) {
	return letterFormat(format, func(letter byte) (Column, bool) {
		c, ok := queueLetters[letter]
		return Column{Title: c.title, value: c.value}, ok
	})
}

func letterFormat(format string, find func(byte) (Column, bool)) (all []Column, err error) {
	for format != "" {
		text, rest, more := strings.Cut(format, "%")
		if text != "" {
			all = append(all, Column{Text: text})
		}
		if !more {
			break
		}
		right := strings.HasPrefix(rest, ".")
		rest = strings.TrimPrefix(rest, ".")
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		width := 0
		if digits > 0 {
			if width, err = strconv.Atoi(rest[:digits]); err != nil || width > 10_000 {
				return nil, fmt.Errorf("Invalid job format specification: width %s", rest[:digits])
			}
		}
		if rest = rest[digits:]; rest == "" {
			return nil, fmt.Errorf("Invalid job format specification: %% at the end")
		}
		c, ok := find(rest[0])
		if !ok {
			return nil, fmt.Errorf("Invalid job format specification: %%%c", rest[0])
		}
		c.Width, c.Left = width, !right
		all, format = append(all, c), rest[1:]
	}
	return all, nil
}

// Letter is a column of a list that is not of jobs: text, or a letter with its width.
type Letter struct {
	Column
	letter byte
}

// ParseLetters reads a format as ParseQueueFormat does, with the letters of another list.
func ParseLetters(format string, title func(letter byte) (string, bool)) (all []Letter, err error) {
	var found []byte
	columns, err := letterFormat(format, func(letter byte) (Column, bool) {
		t, ok := title(letter)
		found = append(found, letter)
		return Column{Title: t}, ok
	})
	for _, c := range columns {
		l := Letter{Column: c}
		if c.Title != "" {
			l.letter, found = found[0], found[1:]
		}
		all = append(all, l)
	}
	return all, err
}

// Cell is the text of the column, of what value says of its letter.
func (l Letter) Cell(value func(letter byte) string) string {
	if l.Title == "" {
		return l.Text
	}
	return l.fit(value(l.letter), "")
}

// WriteQueue prints rows as squeue does.
func WriteQueue(w io.Writer, columns []Column, rows []Row, header bool) {
	line := func(r *Row) {
		for _, c := range columns {
			_, _ = io.WriteString(w, c.cell(r))
		}
		_, _ = io.WriteString(w, "\n")
	}
	if header {
		line(nil)
	}
	for i := range rows {
		line(&rows[i])
	}
}

// cell is a column of a row, or its title.
func (c *Column) cell(r *Row) string {
	text := c.Text
	switch {
	case c.Title == "":
		return text
	case r == nil:
		text = c.Title
	default:
		text = c.value(r)
	}
	return c.fit(text, "")
}

// fit pads a text to the width of the column, and cuts one that is longer; mark stands at the end of such a text.
func (c *Column) fit(text, mark string) string {
	n := len([]rune(text))
	switch {
	case c.Width == 0:
		return text
	case n > c.Width:
		return string([]rune(text)[:c.Width-len(mark)]) + mark
	case c.Left:
		return text + strings.Repeat(" ", c.Width-n)
	}
	return strings.Repeat(" ", c.Width-n) + text
}

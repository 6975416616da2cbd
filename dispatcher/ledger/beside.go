package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

// Row is what a transaction of others wants in the log: a row of table outbox.
type Row struct {
	ID      int64
	Entries []entry.Entry
	Err     error // why they cannot be read, today and ever after
}

// Beside is what an append writes in its transaction beside the batch.
type Beside struct {
	Rows    []int64 // of the outbox, whose entries the batch has: they are deleted, or nothing is appended
	Refused []Refusal
	Texts   []Text
}

// Refusal is a row of the outbox that cannot follow what the log has up to the batch: it is marked, or nothing is appended.
type Refusal struct {
	Row    int64
	Reason string
}

// Text is what people read of an attempt that ended: a row of table attempt_texts.
type Text struct {
	Job      int64
	Attempt  int32
	Report   []byte // JSON, as the next two; nil: there is none
	Outputs  []byte
	Metadata []byte
	Log      string
	Reason   string
}

// Size is about how many bytes it has.
func (t *Text) Size() int {
	return len(t.Report) + len(t.Outputs) + len(t.Metadata) + len(t.Log) + len(t.Reason)
}

// Check refuses what the tables could not hold: the append would fail, today and ever after.
func (t *Text) Check() error {
	for _, c := range []struct {
		name string
		json []byte
	}{{"report", t.Report}, {"outputs", t.Outputs}, {"metadata", t.Metadata}} {
		if c.json == nil {
			continue
		}
		if err := checkJSON(c.json); err != nil {
			return fmt.Errorf("%s of job %d: %w", c.name, t.Job, err)
		}
	}
	if err := checkTexts(t.Log, t.Reason); err != nil {
		return fmt.Errorf("texts of job %d: %w", t.Job, err)
	}
	return nil
}

func (b *Beside) check() error {
	for _, r := range b.Refused {
		if err := checkTexts(r.Reason); err != nil {
			return fmt.Errorf("why row %d is refused: %w", r.Row, err)
		}
	}
	seen := make(map[int64]bool, len(b.Rows))
	for _, id := range b.AllRows() {
		if seen[id] {
			return fmt.Errorf("row %d of the outbox stands beside it twice", id)
		}
		seen[id] = true
	}
	for i := range b.Texts {
		if err := b.Texts[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// AllRows are those of the outbox that it is about.
func (b *Beside) AllRows() []int64 {
	ids := slices.Clone(b.Rows)
	for _, r := range b.Refused {
		ids = append(ids, r.Row)
	}
	return ids
}

func (b *Beside) empty() bool { return len(b.Rows) == 0 && len(b.Refused) == 0 && len(b.Texts) == 0 }

// args are those of beside.sql.
func (b *Beside) args() pg.Args {
	n := len(b.Texts)
	jobs, attempts, logs, reasons := make([]int64, n), make([]int32, n), make([]string, n), make([]string, n)
	reports, outputs, metadata := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i, t := range b.Texts {
		jobs[i], attempts[i], logs[i], reasons[i] = t.Job, t.Attempt, t.Log, t.Reason
		reports[i], outputs[i], metadata[i] = t.Report, t.Outputs, t.Metadata
	}
	rows := append([]int64{}, b.Rows...) // not NULL
	refused, why := make([]int64, len(b.Refused)), make([]string, len(b.Refused))
	for i, r := range b.Refused {
		refused[i], why[i] = r.Row, r.Reason
	}
	return pg.Args{"rows": rows, "refused": refused, "why": why, "jobs": jobs, "attempts": attempts, "logs": logs, "reasons": reasons, "reports": reports, "outputs": outputs,
		"metadata": metadata}
}

// What PostgreSQL's jsonb takes has bounds that JSON has not.
const (
	mostDepth    = 500 // levels; its parser has a stack
	mostDigits   = 500 // of a number
	mostExponent = 300
)

// Escapes of JSON texts: those that stand for themselves or make a pair of surrogates, and, without these, those that jsonb does not take.
var (
	wholeEscapes = regexp.MustCompile(`\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)
	badEscape    = regexp.MustCompile(`\\u(0000|[dD][89a-fA-F]..)`)
)

// checkJSON refuses what is no JSON, or what jsonb does not take: NUL, halves of surrogates, huge numbers, deep nesting.
func checkJSON(text []byte) error {
	if !json.Valid(text) || !utf8.Valid(text) {
		return errors.New("it is no JSON")
	}
	if bytes.Contains(text, []byte(`\u`)) {
		switch bad := bytes.ToLower(badEscape.Find(wholeEscapes.ReplaceAll(text, []byte("_")))); string(bad) {
		case "":
		case `\u0000`:
			return errors.New(`it has \u0000`)
		default:
			return fmt.Errorf("it has %s alone", bad)
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil { // the end: it is valid
			return nil
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			if depth++; depth > mostDepth {
				return fmt.Errorf("it has more than %d levels", mostDepth)
			}
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if number, ok := token.(json.Number); ok {
			if err := checkNumber(number.String()); err != nil {
				return err
			}
		}
	}
}

func checkNumber(number string) error {
	if len(number) > mostDigits {
		return fmt.Errorf("a number has more than %d digits", mostDigits)
	}
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		if e, err := strconv.Atoi(number[at+1:]); err != nil || e > mostExponent || e < -mostExponent {
			return fmt.Errorf("the exponent of %s is beyond %d", number, mostExponent)
		}
	}
	return nil
}

package spec

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// InputsFormat is how a file of inputs is written.
type InputsFormat int

// The formats.
const (
	NamesFormat InputsFormat = iota // one name a line
	LinesFormat                     // JSON lines: a text or an object, as Input has it
	CSVFormat                       // a header with name, and with size, events and locations where they are known
)

// FormatOf tells the format of an inputs_file by its name: .csv, .jsonl and .ndjson; all others have names.
func FormatOf(file string) InputsFormat {
	switch _, ext, _ := lastCut(strings.ToLower(file), "."); ext {
	case "csv":
		return CSVFormat
	case "jsonl", "ndjson":
		return LinesFormat
	}
	return NamesFormat
}

func lastCut(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// EncodeInputs turns an inputs_file, with empty lines passed over, into the lines that AddInputs reads, leaving out the first
// skip: what a client streams. It returns how many it wrote.
func EncodeInputs(dst io.Writer, src io.Reader, format InputsFormat, skip int64) (n int64, err error) {
	out := bufio.NewWriterSize(dst, 64<<10)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	take := func(line int, in Input) error {
		if skip > 0 {
			skip--
			return nil
		}
		if err := in.check(); err != nil {
			return fmt.Errorf("line %d: the input %w", line, err)
		}
		n++
		if in.Size == 0 && in.Events == 0 && len(in.Locations) == 0 {
			return e.Encode(in.Name)
		}
		return e.Encode(plainInput(in))
	}
	if format == CSVFormat {
		err = readCSV(src, take)
	} else {
		err = readText(src, format, take)
	}
	if err != nil {
		return n, err
	}
	return n, out.Flush()
}

func readText(src io.Reader, format InputsFormat, take func(line int, in Input) error) error {
	scan := bufio.NewScanner(src)
	scan.Buffer(make([]byte, 0, 64<<10), MaxLine)
	line := 1
	for ; scan.Scan(); line++ {
		text := bytes.TrimRight(scan.Bytes(), "\r")
		if len(text) == 0 {
			continue
		}
		in := Input{}
		if format == NamesFormat {
			in.Name = string(text)
		} else if err := in.UnmarshalJSON(text); err != nil {
			return fmt.Errorf("line %d: %w", line, inWords(err))
		}
		if err := take(line, in); err != nil {
			return err
		}
	}
	if errors.Is(scan.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d has more than %d bytes", line, MaxLine)
	}
	return scan.Err()
}

func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	switch wrong.Field {
	case "name":
		return fmt.Errorf("name: a %s is not a text", wrong.Value)
	case "size", "events":
		return fmt.Errorf("%s: a %s is not a whole number", wrong.Field, wrong.Value)
	case "locations":
		return fmt.Errorf("locations: a %s is not a list of names", wrong.Value)
	}
	return fmt.Errorf("a %s is neither a name nor an object", wrong.Value)
}

// csvColumns are what a header may name.
var csvColumns = map[string]func(*Input, string) error{
	"name": func(in *Input, text string) error { in.Name = text; return nil },
	"size": func(in *Input, text string) (err error) { in.Size, err = wholeCell("size", text); return err },
	"events": func(in *Input, text string) (err error) {
		in.Events, err = wholeCell("events", text)
		return err
	},
	"locations": func(in *Input, text string) error {
		in.Locations = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ';' })
		return nil
	},
}

func wholeCell(column, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %.40q is not a whole number", column, text)
	}
	return n, nil
}

// inLine says in our words where a row is not CSV.
func inLine(err error) error {
	var wrong *csv.ParseError
	if !errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("line %d: character %d: %w", wrong.Line, wrong.Column, wrong.Err)
}

// readCSV reads rows under a header. Several locations are apart by spaces or semicolons.
func readCSV(src io.Reader, take func(line int, in Input) error) error {
	r := csv.NewReader(src)
	r.TrimLeadingSpace, r.ReuseRecord = true, true
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("line 1: the header of the columns: %w", inLine(err))
	}
	set := make([]func(*Input, string) error, len(header))
	names := make([]string, 0, len(header))
	for i, column := range header {
		column = strings.TrimSpace(strings.TrimPrefix(column, "\ufeff"))
		if set[i] = csvColumns[column]; set[i] == nil {
			return fmt.Errorf("line 1: column %.40q is not known: name, size, events, locations", column)
		}
		if slices.Contains(names, column) {
			return fmt.Errorf("line 1: column %s is there twice", column)
		}
		names = append(names, column)
	}
	if !slices.Contains(names, "name") {
		return errors.New("line 1: no column is called name")
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			return inLine(err)
		}
		line, _ := r.FieldPos(0) // there is a first field: a row that was not understood may have none
		if err != nil {
			return fmt.Errorf("line %d has %d columns, the header %d", line, len(row), len(header))
		}
		var in Input
		for i, cell := range row {
			if err := set[i](&in, cell); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		}
		if err := take(line, in); err != nil {
			return err
		}
	}
}

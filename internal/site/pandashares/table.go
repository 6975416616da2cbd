package pandashares

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// place is where something stands in the table's file, counted from 1.
type place struct{ line, column int }

// cell is a value of the table. NULLs are not cells.
type cell struct {
	text string
	at   place
}

// row is a line of the table: its cells by column, in the spelling of columnOf.
type row struct {
	cells map[string]cell
	at    place
}

// cell is the one under a column, or an empty one at the begin of the row.
func (r row) cell(column string) cell {
	c := r.cells[column]
	return cell{c.text, place{cmp.Or(c.at.line, r.at.line), cmp.Or(c.at.column, r.at.column)}}
}

// faults gathers what is wrong with one file.
type faults struct {
	file string
	all  strict.Problems
	off  map[string]int // lines of shares that are switched off
}

func (f *faults) add(at place, message, hint string) {
	f.all = append(f.all, strict.Problem{File: f.file, Line: at.line, Column: at.column, Message: message, Hint: hint})
}

// err is nil or all of them, in file order.
func (f *faults) err() error {
	if len(f.all) == 0 {
		return nil
	}
	slices.SortStableFunc(f.all, func(a, b strict.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f.all
}

// columnOf is one spelling for all: headers come in any case, with underscores or without.
func columnOf(header string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(header)), "_", "")
}

// null says whether a cell of a CSV file stands for no value, as tools write it.
func null(text string) bool {
	return text == "" || text == `\N` || slices.Contains([]string{"null", "none", "(null)"}, strings.ToLower(text))
}

// readTable reads a file: JSON when it begins like that, else CSV.
func (f *faults) readTable(src []byte) []row {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	rows := f.readCSV
	if begin := bytes.TrimSpace(src); len(begin) > 0 && (begin[0] == '[' || begin[0] == '{') {
		rows = f.readJSON
	}
	table := rows(src)
	if len(f.all) == 0 && len(table) == 0 {
		f.add(place{}, "the table has no rows", "expected columns NAME, VALUE, PARENT and a row a share")
	}
	return table
}

// readCSV takes commas, semicolons or tabs between the cells, whichever the header has.
func (f *faults) readCSV(src []byte) (rows []row) {
	r := csv.NewReader(bytes.NewReader(src))
	head, _, _ := strings.Cut(string(src), "\n")
	for _, comma := range []rune{';', '\t'} {
		if strings.ContainsRune(head, comma) {
			r.Comma = comma
		}
	}
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		f.addCSV(err)
		return nil
	}
	columns := make([]string, len(header))
	for i, h := range header {
		columns[i] = columnOf(h)
		line, column := r.FieldPos(i)
		if slices.Contains(columns[:i], columns[i]) {
			f.add(place{line, column}, fmt.Sprintf("column %s is there twice", strings.TrimSpace(h)), "")
		}
	}
	f.require(columns)
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			f.addCSV(err)
			if !errors.Is(err, csv.ErrFieldCount) {
				return rows
			}
			continue
		}
		line, column := r.FieldPos(0)
		one := row{cells: map[string]cell{}, at: place{line, column}}
		for i, text := range record {
			if text = strings.TrimSpace(text); !null(text) {
				line, column := r.FieldPos(i)
				one.cells[columns[i]] = cell{text, place{line, column}}
			}
		}
		rows = append(rows, one)
	}
}

func (f *faults) require(columns []string) {
	for _, c := range []string{"name", "value", "parent"} {
		if !slices.Contains(columns, c) {
			f.add(place{1, 1}, fmt.Sprintf("no column %s", strings.ToUpper(c)), "the first line names the columns: NAME, VALUE, PARENT, PRODSOURCELABEL …")
		}
	}
}

func (f *faults) addCSV(err error) {
	var at *csv.ParseError
	switch {
	case errors.As(err, &at) && errors.Is(err, csv.ErrFieldCount):
		f.add(place{at.Line, at.Column}, "the row has another number of cells than the header", "a cell with a comma in it stands in quotes")
	case errors.As(err, &at):
		f.add(place{at.Line, at.Column}, at.Err.Error(), "")
	default:
		f.add(place{}, err.Error(), "")
	}
}

// readJSON takes a list of objects, a row each.
func (f *faults) readJSON(src []byte) (rows []row) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	const want = `expected a list of rows: [{"name": …, "value": …, "parent": …}, …]`
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		f.add(place{1, 1}, "not a list", want)
		return nil
	}
	for dec.More() {
		at := placeOf(src, dec.InputOffset())
		var object map[string]any
		err := dec.Decode(&object)
		var other *json.UnmarshalTypeError
		switch {
		case errors.As(err, &other):
			f.add(at, "not a row but a "+other.Value, want)
			continue
		case err != nil:
			f.add(at, fmt.Sprintf("not a row: %v", err), want)
			return rows
		}
		rows = append(rows, f.rowOf(object, at))
	}
	if _, err := dec.Token(); err != nil {
		f.add(placeOf(src, dec.InputOffset()), "the list does not end", want)
	}
	return rows
}

func (f *faults) rowOf(object map[string]any, at place) row {
	one := row{cells: map[string]cell{}, at: at}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		column := columnOf(key)
		if _, twice := one.cells[column]; twice {
			f.add(at, fmt.Sprintf("column %s is there twice", strings.ToUpper(column)), "")
		}
		switch v := object[key].(type) {
		case nil:
		case string:
			if v = strings.TrimSpace(v); v != "" {
				one.cells[column] = cell{v, at}
			}
		case json.Number:
			one.cells[column] = cell{v.String(), at}
		default:
			f.add(at, fmt.Sprintf("%s is neither a text nor a number", key), "")
		}
	}
	return one
}

// placeOf is that of the first letter that says something from an offset on.
func placeOf(src []byte, offset int64) place {
	rest := bytes.TrimLeft(src[offset:], " \t\r\n,")
	before := src[:len(src)-len(rest)]
	return place{bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')}
}

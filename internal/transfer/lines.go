package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// maxLine bounds a line: the largest is a version of a site of many thousand shares, of some megabytes.
const maxLine = 64 << 20

// lines reads a file record by record. Its errors say the file and the line.
type lines struct {
	r    *bufio.Reader
	name string
	n    int // of the line that was read last
}

// record is a line that is one.
type record struct {
	kind kind
	line int
	text []byte
}

func (l *lines) errorf(format string, args ...any) error {
	return l.at(l.n, fmt.Errorf(format, args...))
}

func (l *lines) at(line int, err error) error { return fmt.Errorf("%s:%d: %w", l.name, line, err) }

// next returns a line and its kind; io.EOF behind the last one.
func (l *lines) next() (text []byte, kind string, err error) {
	for {
		part, err := l.r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil, err == io.EOF && len(text) > 0:
		case errors.Is(err, bufio.ErrBufferFull) && len(text) <= maxLine:
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			l.n++
			return nil, "", l.errorf("the line is longer than %d bytes", maxLine)
		default:
			return nil, "", err
		}
		break
	}
	l.n++
	text = bytes.TrimSpace(text)
	var of struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, "", l.errorf("no JSON object: %v", err)
	}
	return text, of.Kind, nil
}

// header reads the first line.
func (l *lines) header() (h header, err error) {
	text, kind, err := l.next()
	switch {
	case errors.Is(err, io.EOF):
		return h, fmt.Errorf("%s is empty", l.name)
	case err != nil:
		return h, err
	case kind != headerKind:
		return h, l.errorf("this is no file of 'divvy migrate export': the first line says kind %q, not %q", kind, headerKind)
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, l.errorf("header: %v", err)
	}
	if h.Format != format {
		return h, l.errorf("format %d is not known; this divvy reads format %d", h.Format, format)
	}
	return h, nil
}

// record reads the next record. ok is false at the end of the file, which says how many there were: records.
func (l *lines) record(records int) (rec record, ok bool, err error) {
	text, name, err := l.next()
	if errors.Is(err, io.EOF) {
		return rec, false, l.errorf("the file is cut off behind this line: the one of kind %q is missing", endKind)
	}
	if err != nil {
		return rec, false, err
	}
	if name == endKind {
		return rec, false, l.end(text, records)
	}
	k, known := kindOf(name)
	if !known {
		return rec, false, l.errorf("kind %q is not known", name)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return rec, false, l.errorf("no JSON object: %v", err)
	}
	if err := k.check(slices.Sorted(maps.Keys(fields))); err != nil {
		return rec, false, l.at(l.n, err)
	}
	return record{kind: k, line: l.n, text: text}, true, nil
}

func (l *lines) end(text []byte, records int) error {
	var e end
	if err := json.Unmarshal(text, &e); err != nil {
		return l.errorf("end: %v", err)
	}
	if e.Records != records {
		return l.errorf("the file has %d records, and should have %d: lines are missing, or twice", records, e.Records)
	}
	switch _, _, err := l.next(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return l.errorf("there is a line behind the end")
}

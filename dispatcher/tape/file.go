package tape

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/divvyhq/divvy/shares"
)

// Writer writes a tape.
type Writer struct {
	zip  *gzip.Writer
	json *json.Encoder
}

// NewWriter makes a Writer of a new tape. Close it to complete the tape.
func NewWriter(to io.Writer) *Writer {
	zip, _ := gzip.NewWriterLevel(to, gzip.BestCompression) // the level is one that there is
	out := json.NewEncoder(zip)
	out.SetEscapeHTML(false)
	return &Writer{zip, out}
}

// Write appends an entry.
func (w *Writer) Write(e Entry) error { return w.json.Encode(e) }

// Close completes the tape, and leaves the writer below open.
func (w *Writer) Close() error { return w.zip.Close() }

// Read reads a whole tape. The trees of its sites can be looked up by path and by id.
func Read(from io.Reader) (entries []Entry, err error) {
	zip, err := gzip.NewReader(bufio.NewReader(from))
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	in := json.NewDecoder(zip)
	in.DisallowUnknownFields()
	for {
		var e Entry
		if err := in.Decode(&e); errors.Is(err, io.EOF) {
			return entries, nil
		} else if err != nil {
			return nil, fmt.Errorf("tape: entry %d: %w", len(entries)+1, err)
		}
		if e.Adopt != nil && e.Adopt.Site != nil {
			index(e.Adopt.Site.Tree)
		}
		entries = append(entries, e)
	}
}

// index gives a tree that was read the look-up by id that one has which was built.
func index(t *shares.Tree) {
	ids := make(map[string]shares.ShareID, len(t.Nodes))
	for _, n := range t.Nodes {
		ids[n.Path] = n.ID
	}
	t.SetIDs(func(path string) shares.ShareID { return ids[path] })
}

// Spans lists ids that rise as ranges.
func Spans(ids []int64) (spans []Span) {
	for _, id := range ids {
		if last := len(spans) - 1; last >= 0 && spans[last][1]+1 == id {
			spans[last][1] = id
			continue
		}
		spans = append(spans, Span{id, id})
	}
	return spans
}

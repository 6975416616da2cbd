package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// Body limits.
const (
	maxPull = 64 << 10
	maxBody = 8 << 20
)

// maxValues is how many values a pilot's request may have: some hundred for each of maxItems. Each takes more memory than text.
const maxValues = 200_000

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keep is the size above which a buffer is left to the collector.
const keep = 256 << 10

func release(b *bytes.Buffer) {
	if b.Cap() <= keep {
		b.Reset()
		buffers.Put(b)
	}
}

// decode reads the body of a pilot's request: by hand when read takes it, else as encoding/json does, which then has
// the last word. Unknown fields are ignored: pilots and daemons of different versions mix. The error is a *Problem
// that names the place. The body as it came is the caller's to release.
func decode[T any](w http.ResponseWriter, r *http.Request, limit int64, read func([]byte, *T) bool) (*T, *bytes.Buffer, error) {
	buf := buffers.Get().(*bytes.Buffer)
	body := io.Reader(r.Body)
	if r.ContentLength < 0 || r.ContentLength > limit {
		body = http.MaxBytesReader(w, r.Body, limit) // else net/http ends the body where its length says
	}
	if _, err := buf.ReadFrom(body); err != nil {
		return nil, buf, problem.OfBody(err)
	}
	if strict.ManyValues(buf.Bytes(), maxValues) {
		return nil, buf, problem.New(problem.TooLarge, fmt.Sprintf("at most %d values", maxValues))
	}
	v := new(T)
	if read(buf.Bytes(), v) {
		return v, buf, nil
	}
	*v = *new(T)
	if err := json.Unmarshal(buf.Bytes(), v); err != nil {
		return nil, buf, problem.OfJSON(buf.Bytes(), err)
	}
	return v, buf, nil
}

// reply writes v as JSON.
func reply(w http.ResponseWriter, v any) {
	buf := buffers.Get().(*bytes.Buffer)
	defer release(buf)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("api: %T does not encode: %v", v, err)) // the edge answers 500
	}
	send(w, buf.Bytes())
}

// answer writes v as JSON by hand.
func answer[T any](w http.ResponseWriter, v *T, write func([]byte, *T) []byte) {
	buf := buffers.Get().(*bytes.Buffer)
	defer release(buf)
	text := write(buf.AvailableBuffer(), v)
	_, _ = buf.Write(text) // in place, or the larger buffer for the next one
	send(w, text)
}

// send writes a body. Its length is said where net/http would cut it into chunks: it looks 2 KiB ahead only.
func send(w http.ResponseWriter, text []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	if len(text) > 2<<10 {
		h["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	_, _ = w.Write(text) // the client may have gone
}

var jsonType = []string{"application/json"}

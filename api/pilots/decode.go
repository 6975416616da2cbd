package pilots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// MaxPull is the length of a pull's body.
const MaxPull = 64 << 10

// maxValues is how many values a pilot's request may have: some hundred for each of maxItems. Each takes more memory than text.
const maxValues = 200_000

// decode reads the body of a pilot's request: by hand when read takes it, else as encoding/json does, which then has
// the last word. Unknown fields are ignored: pilots and daemons of different versions mix. The error is a *Problem
// that names the place. The body as it came is the caller's to release.
func decode[T any](w http.ResponseWriter, r *http.Request, limit int64, read func([]byte, *T) bool) (*T, *bytes.Buffer, error) {
	buf := edge.Buffers.Get().(*bytes.Buffer)
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

// answer writes v as JSON by hand.
func answer[T any](w http.ResponseWriter, v *T, write func([]byte, *T) []byte) {
	buf := edge.Buffers.Get().(*bytes.Buffer)
	defer edge.Release(buf)
	text := write(buf.AvailableBuffer(), v)
	_, _ = buf.Write(text) // in place, or the larger buffer for the next one
	edge.Send(w, text)
}

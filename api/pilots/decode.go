package pilots

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	v1 "github.com/go-json-experiment/json/v1"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// MaxPull is the length of a pull's body.
const MaxPull = 64 << 10

// maxValues is how many values a pilot's request may have: some hundred for each of MaxItems. Each takes more memory than text.
const maxValues = 200_000

// meaning is that of encoding/json. The first error ends the reading: encoding/json names it.
var meaning = json.JoinOptions(v1.DefaultOptionsV1(), v1.ReportErrorsWithLegacySemantics(false))

// decode reads the body of a pilot's request. What the fast library refuses, encoding/json has the last word on. Unknown
// fields are ignored: pilots and daemons of different versions mix. The error is a *Problem that names the place.
func decode[T any](w http.ResponseWriter, r *http.Request, limit int64) (*T, error) {
	buf := edge.Buffers.Get().(*bytes.Buffer)
	defer edge.Release(buf)
	body := io.Reader(r.Body)
	if r.ContentLength < 0 || r.ContentLength > limit {
		body = http.MaxBytesReader(w, r.Body, limit) // else net/http ends the body where its length says
	}
	if _, err := buf.ReadFrom(body); err != nil {
		return nil, problem.OfBody(err)
	}
	return read[T](buf.Bytes())
}

func read[T any](text []byte) (*T, error) {
	if strict.ManyValues(text, maxValues) {
		return nil, problem.New(problem.TooLarge, fmt.Sprintf("at most %d values", maxValues))
	}
	v := new(T)
	if json.Unmarshal(text, v, meaning) == nil {
		return v, nil
	}
	v = new(T)
	if err := stdjson.Unmarshal(text, v); err != nil {
		return nil, problem.OfJSON(text, err)
	}
	return v, nil
}

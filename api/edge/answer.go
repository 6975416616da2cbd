package edge

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// MaxBody is the default bound of a body.
const MaxBody = 8 << 20

// Buffers are for answers on their way; Release gives one back.
var Buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keep is the size above which a buffer is left to the collector.
const keep = 256 << 10

// Release gives a buffer back that has no reader any more.
func Release(b *bytes.Buffer) {
	if b.Cap() <= keep {
		b.Reset()
		Buffers.Put(b)
	}
}

// written are the bytes that encoding/json writes without HTML escapes.
var written = json.JoinOptions(v1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))

// Reply writes v as JSON.
func Reply(w http.ResponseWriter, v any) {
	buf := Buffers.Get().(*bytes.Buffer)
	defer Release(buf)
	if err := json.MarshalWrite(buf, v, written); err != nil {
		panic(fmt.Sprintf("api: %T does not encode: %v", v, err)) // the Edge answers 500
	}
	buf.WriteByte('\n')
	Send(w, buf.Bytes())
}

// Send writes a body. Its length is said where net/http would cut it into chunks: it looks 2 KiB ahead only.
func Send(w http.ResponseWriter, text []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	if len(text) > 2<<10 {
		h["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	_, _ = w.Write(text) // the client may have gone
}

var jsonType = []string{"application/json"}

// List makes an empty list of nil: the document says list, and null is none.
func List[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

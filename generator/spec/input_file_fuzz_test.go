package spec

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// somewhere is how every error about a file of inputs begins or goes on.
var somewhere = regexp.MustCompile(`^line \d+|no column is called name`)

// No file of inputs makes the reader fall over; an error names its line, and what is accepted comes out as lines that are
// read again as the same inputs.
func FuzzInputFile(f *testing.F) {
	for _, text := range []string{"a\n\nb\r\n", "name,size\na,1\n", "name\na\"b\n", "name,size\n\"a\n\",2\n", "\ufeffname\nx\n", "\"a\"\n{\"name\":\"b\",\"events\":3,\"locations\":[\"x\"]}\n",
		"{\"name\":\"b\",\"size\":-1}", "{}", "name,name\n", "name,locations\na,EOS; RAL\n", strings.Repeat("x", MaxLine+1)} {
		for format := range 3 {
			f.Add([]byte(text), format, int64(0))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, kind int, skip int64) {
		format := InputsFormat(((kind % 3) + 3) % 3)
		var first, again bytes.Buffer
		n, err := EncodeInputs(&first, bytes.NewReader(text), format, skip)
		if err != nil {
			if !somewhere.MatchString(err.Error()) {
				t.Errorf("%q names no place", err)
			}
			return
		}
		if lines := int64(bytes.Count(first.Bytes(), []byte("\n"))); lines != n {
			t.Fatalf("%d inputs in %d lines", n, lines)
		}
		m, err := EncodeInputs(&again, bytes.NewReader(first.Bytes()), LinesFormat, 0)
		if err != nil || m != n {
			t.Fatalf("read again: %d of %d, %v\n%s", m, n, err, first.Bytes())
		}
		if d := cmp.Diff(first.String(), again.String()); d != "" {
			t.Error(d)
		}
	})
}

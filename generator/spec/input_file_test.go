package spec

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file of inputs comes to AddInputs as it is meant, whatever it is written in; skip leaves out what is there already.
func TestInputFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		skip       int64
		want       string
	}{
		"names":   {"inputs.txt", "a\n\n{b}\n", 0, `"a" "{b}"`},
		"csv":     {"in.CSV", "events,name,size,locations\n5,a,7,EOS;RAL\n,\"b,c\",,\n", 0, `{"name":"a","size":7,"events":5,"locations":["EOS","RAL"]} "b,c"`},
		"lines":   {"in.jsonl", "\"a\"\n\n{\"name\": \"b\", \"events\": 3}\n\"c\"", 1, `{"name":"b","events":3} "c"`},
		"header":  {"in.csv", "file\na\n", 0, `line 1: column "file" is not known: name, size, events, locations`},
		"cell":    {"in.csv", "name,size\na,1\nb,big\n", 0, `line 3: size: "big" is not a whole number`},
		"unnamed": {"in.csv", "size\n1\n", 0, "line 1: no column is called name"},
		"field":   {"in.ndjson", "\"a\"\n{\"nam\": \"b\"}", 0, `line 2: json: unknown field "nam"`},
		"twice":   {"in.csv", "name,size,size\na,1,2\n", 0, "line 1: column size is there twice"},
		"columns": {"in.csv", "name,size\na,1\nb\n", 0, "line 3 has 1 columns, the header 2"},
		"type":    {"in.jsonl", "\"a\"\n{\"name\": \"b\", \"size\": \"1\"}", 0, "line 2: size: a string is not a whole number"},
		"places":  {"in.jsonl", "{\"name\": \"b\", \"locations\": \"EOS\"}", 0, "line 1: locations: a string is not a list of names"},
		"number":  {"in.jsonl", "12", 0, "line 1: a number is neither a name nor an object"},
		"empty":   {"in.csv", "name,size\n,1\n", 0, "line 2: the input is empty"},
		"quote":   {"in.csv", "name\na\"b\n", 0, `line 2: character 2: bare " in non-quoted-field`},
	} {
		var out bytes.Buffer
		_, err := EncodeInputs(&out, strings.NewReader(c.text), FormatOf(c.file), c.skip)
		got := strings.Join(strings.Fields(out.String()), " ")
		if err != nil {
			got = err.Error()
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

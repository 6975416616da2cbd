package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// specLimits bound a file of tasks. Longer lists of inputs belong into an inputs_file.
var specLimits = strict.Limits{Bytes: 32 << 20, Depth: 20, Values: 2_000_000}

// ParseSpecs reads a file of tasks: YAML, several documents with --- between them, or JSON as a kind of YAML.
// Empty documents are passed over. The error is strict.Problems: every fault with file, line and column.
func ParseSpecs(name string, src []byte) ([]Spec, error) {
	docs, report := strict.Parse(name, src, specLimits)
	docs = slices.DeleteFunc(docs, strict.Value.IsNull)
	var specs []Spec
	for _, doc := range docs {
		if report.Full() {
			break
		}
		specs = append(specs, readSpec(doc))
	}
	for _, f := range fileFaults(specs) {
		if at := docs[f.doc].At(f.Field); !at.Failed() {
			at.Fail(f.Field+" "+f.Message, f.Hint)
		}
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		report.Add("no task in this file", "a task has a name, a user, a command and, for instance, a count")
		return nil, report.Err()
	}
	return specs, nil
}

// readSpec reads one document and puts what Check finds at what it is about, unless that could not be read.
func readSpec(doc strict.Value) (s Spec) {
	if decoder.Decode(doc, &s); !doc.IsMapping() {
		return s
	}
	var faults Faults
	errors.As(s.Check(), &faults)
	faults = slices.DeleteFunc(faults, func(f Fault) bool {
		return slices.ContainsFunc(f.absent, doc.Has) || strings.ContainsAny(f.Field, ".[") && doc.At(f.Field).Failed()
	})
	for _, f := range faults {
		doc.At(f.Field).Fail(f.Field+" "+f.Message, f.Hint)
	}
	return s
}

// decoder knows the texts and the other ways of writing that task files have.
var decoder = newDecoder()

func newDecoder() *strict.Decoder {
	d := strict.NewDecoder(map[string]strict.Word{"word": word, "share": share, "selector": selector, "units": units, "outputs": outputs})
	strict.Reads(d, readInput)
	strict.Reads(d, readNeed)
	strict.Reads(d, readMatrix)
	strict.Reads(d, readTime)
	return d
}

// readInput takes a name, or a mapping that says more.
func readInput(d *strict.Decoder, v strict.Value, to *Input) {
	if v.IsMapping() {
		d.Fields(v, to)
		return
	}
	to.Name, _ = v.Text()
}

// needInFile is a need whose task is an id or a name.
type needInFile struct {
	Ref strict.Value `yaml:"task" is:"required"`
	Need
}

func readNeed(d *strict.Decoder, v strict.Value, to *Need) {
	var n needInFile
	d.Fields(v, &n)
	if *to = n.Need; n.Ref.IsText() {
		to.Name, _ = n.Ref.NonEmpty()
	} else {
		to.Task, _ = n.Ref.Int(1, 1<<62)
	}
}

// readMatrix takes a mapping from axis to values, in the file's order, or the API's list of name and values.
func readMatrix(d *strict.Decoder, v strict.Value, to *[]job.Axis) {
	if v.IsList() {
		list, _ := v.List()
		*to = make([]job.Axis, len(list))
		for i, e := range list {
			d.Fields(e, &(*to)[i])
		}
		return
	}
	v.Entries(func(name string, _, val strict.Value) {
		values, _ := val.Strings()
		*to = append(*to, job.Axis{Name: name, Values: values})
	})
	if v.IsMapping() && len(*to) == 0 {
		v.Failf("%s is empty", v.Name())
	}
}

// readTime takes a moment with its zone.
func readTime(_ *strict.Decoder, v strict.Value, to *time.Time) {
	text, ok := v.Text()
	if !ok {
		return
	}
	at, err := time.Parse(time.RFC3339, text)
	if *to = at.UTC(); err != nil {
		v.Fail(fmt.Sprintf("%.40q is no moment", text), "such as 2026-12-24T18:00:00Z or 2026-12-24T18:00:00+01:00")
	}
}

// Canonical is the task as it is hashed and kept: the same for all ways of writing the same.
func (s Spec) Canonical() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

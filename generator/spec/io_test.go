package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/shares"
)

// io_intensity is in MB/s, and becomes units of a resource in kB/s, which nobody asks for by its name.
func TestIOIntensity(t *testing.T) {
	const file = "name: a\nuser: u\ncommand: [x]\ncount: 1\n"
	specs, err := ParseSpecs("f", []byte(file+"io_intensity: 2.505\nresources: {maya: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"maya": 1, shares.IO: 2505}
	if got := specs[0].Shape(); !cmp.Equal(got.Resources, want) || got.SharingID != "u" {
		t.Errorf("%+v, want resources %v", got, want)
	}
	if len(specs[0].Resources) != 1 {
		t.Errorf("the task asks for %v itself", specs[0].Resources)
	}
	specs[0].Resources = nil
	if got := specs[0].Shape(); got.SharingID != "" {
		t.Errorf("a shape for each user, though I/O is not split: %+v", got)
	}
	for text, want := range map[string]string{
		"io_intensity: 0\n":         "f:5:15: io_intensity is zero",
		"io_intensity: 1.0005\n":    "f:5:15: io_intensity: 1.0005 has more than three decimals",
		"io_intensity: 1000001\n":   "f:5:15: io_intensity is more than 1000000",
		"resources: {io: 5}\n":      "io is no resource that is asked for by name (say io_intensity of the task, in MB/s)",
		"io_intensity: [1, 2, 3]\n": "f:5:15: io_intensity",
	} {
		if _, err := ParseSpecs("f", []byte(file+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, mbs := range []float64{-1, 0.0005, 2e6} {
		s := Spec{Name: "a", User: "u", Command: []string{"x"}, Count: 1, Holdings: Holdings{IOIntensity: mbs}}
		if s.Check() == nil {
			t.Errorf("%v MB/s is accepted", mbs)
		}
	}
}

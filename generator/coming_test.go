package generator

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/generator/spec"
)

// What comes with tasks is in the log before any of their jobs is made, and goes with these.
func TestComingJobsAreSaidAtOnce(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	var all []SubmitRequest
	for _, n := range []int64{40, 2, 3} {
		all = append(all, SubmitRequest{Spec: managed(func(s *spec.Spec) { s.Count = n })})
	}
	if _, err := w.SubmitMany(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	w.submit(t, managed(func(s *spec.Spec) { s.Count = 5 }))
	stands := func() (ready, coming int64) {
		w.fold(t)
		if err := d.View(t.Context(), func(v machine.View) {
			for b := range v.Ready() {
				ready, coming = ready+b.Ready, coming+b.Expected
			}
		}); err != nil {
			t.Fatal(err)
		}
		return ready, coming
	}
	if ready, coming := stands(); ready != 0 || coming != 50 {
		t.Errorf("%d are ready and %d to come, want 0 and 50", ready, coming)
	}
	for range 3 {
		steps(t, w.Generate)
	}
	if ready, coming := stands(); ready != 50 || coming != 0 {
		t.Errorf("%d are ready and %d to come, want 50 and 0", ready, coming)
	}
}

package dispatcher

import (
	"errors"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// Cores are int4 in the records of decisions: what does not fit is refused where it comes in.
func TestPullOfTooManyCores(t *testing.T) {
	for cores, field := range map[int]string{1 << 31: "slot.cores", -1: "slot", 1<<31 - 1: ""} {
		_, err := newPull(PullRequest{Queue: "Q", Pilot: "p", Slot: job.Slot{Cores: cores}})
		var bad *job.FieldError
		if errors.As(err, &bad) != (field != "") || bad != nil && bad.Field != field {
			t.Errorf("%d cores: %v", cores, err)
		}
	}
}

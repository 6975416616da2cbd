package suite

import (
	"context"
	"errors"
	"slices"
)

// unmeasured is why a measurement cannot be made here, or has come out without a figure: the others stand.
type unmeasured struct{ why string }

func (e *unmeasured) Error() string { return e.why }

// tooShort is why a round came out empty.
const tooShort = "this machine is too busy, rounds are too short, or the data set is too small"

// skip says why a measurement is left out, on the terminal and in the report.
func (s *stage) skip(id, why string) {
	s.say("%s skipped: %s", id, why)
	s.report.Skipped = append(s.report.Skipped, Skip{id, why})
}

// take goes through a step. One that ends unmeasured is skipped, with all that were chosen of it and have no figure
// yet, and the data set is restored for the next. A check that failed ends the run.
func (s *stage) take(ctx context.Context, step step, chosen selection) error {
	err := step.take(ctx, chosen)
	var why *unmeasured
	if wrong := (*CheckError)(nil); !errors.As(err, &why) || errors.As(err, &wrong) || ctx.Err() != nil {
		return err
	}
	for _, id := range step.ids {
		if chosen[id] && !s.settled(id) {
			s.skip(id, why.why)
		}
	}
	return s.back(ctx)
}

// settled says that a measurement has a figure, or is skipped already.
func (s *stage) settled(id string) bool {
	return slices.ContainsFunc(s.report.Figures, func(f Figure) bool { return f.ID == id }) ||
		slices.ContainsFunc(s.report.Skipped, func(k Skip) bool { return k.ID == id })
}

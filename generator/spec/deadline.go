package spec

import "time"

// NotPast refuses a deadline that nothing can keep any more. It is no part of Check: what is stored stays as it is.
func (s *Spec) NotPast(now time.Time) error {
	if s.Deadline == nil || s.Deadline.After(now) {
		return nil
	}
	return Invalid("deadline", s.Deadline.UTC().Format(time.RFC3339)+" has passed", "a later one, or none")
}

package spec

import "time"

// NotPast refuses a deadline that nothing can keep any more. It is no part of Check: what is stored stays as it is.
func (s *Spec) NotPast(now time.Time) error {
	if s.Deadline == nil || s.Deadline.After(now) {
		return nil
	}
	return Invalid("deadline", s.Deadline.UTC().Format(time.RFC3339)+" has passed", "a later one, or none")
}

func (c *checker) deadline(s *Spec) {
	switch {
	case s.Boost < 0 || s.Boost > MaxPriority:
		c.addf("boost", "%d is not in 0 … %d", s.Boost, MaxPriority)
	case s.Boost > 0 && s.Deadline == nil:
		c.hint("boost", "is for tasks with a deadline", "say deadline too")
	}
}

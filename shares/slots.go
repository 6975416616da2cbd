package shares

// Slots apportions whole units by Targets, level by level.
func (p *Pool) Slots(r Units) []int64 { return nil }

package spec

// Changes are what is other when a task is tried again; absent is as before.
type Changes struct {
	Cores       *int      `json:"cores,omitempty" minimum:"1"`
	MemoryMB    *int64    `json:"memory_mb,omitempty" minimum:"0" doc:"0 = no need."`
	DiskMB      *int64    `json:"disk_mb,omitempty" minimum:"0"`
	Walltime    *Walltime `json:"walltime,omitempty" doc:"Such as 90s, 2h or 1d12h."`
	Queues      *[]string `json:"queues,omitempty" maxItems:"200" doc:"Where it may run; empty = anywhere."`
	MaxAttempts *int      `json:"max_attempts,omitempty" minimum:"1"`
	Priority    *int      `json:"priority,omitempty" minimum:"-1000000000" maximum:"1000000000"`
}

// Apply is the spec with the changes. The error is Faults.
func (c *Changes) Apply(s Spec) (Spec, error) {
	set(&s.Requirements.Cores, c.Cores)
	set(&s.Requirements.MemoryMB, c.MemoryMB)
	set(&s.Requirements.DiskMB, c.DiskMB)
	set(&s.Requirements.Walltime, c.Walltime)
	set(&s.Queues, c.Queues)
	set(&s.MaxAttempts, c.MaxAttempts)
	set(&s.Priority, c.Priority)
	s = s.WithDefaults()
	var check checker
	check.tags(&s)
	check.attempts(&s)
	return s, check.faults.Err()
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// Shapes says that the requirements change.
func (c *Changes) Shapes() bool {
	return c.Cores != nil || c.MemoryMB != nil || c.DiskMB != nil || c.Walltime != nil || c.Queues != nil
}

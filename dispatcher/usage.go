package dispatcher

// Bounds of what an attempt may have used, as it is written down: 30 years of one core, and a petabyte. A pilot that says
// more has miscounted; its result counts all the same. The sum over all attempts that there may ever be fits a bigint of
// milliseconds, and the view attempt_pieces has the same bound for what was written before there was one.
const (
	mostCPUSeconds = 1e9
	mostMemoryMB   = 1_000_000_000
)

// bounded is the usage as it is written down. What is no number is none.
func usageBounded(u Usage) Usage {
	if !(u.CPUSeconds > 0) {
		u.CPUSeconds = 0
	}
	return Usage{CPUSeconds: min(u.CPUSeconds, mostCPUSeconds), MemoryMB: min(max(0, u.MemoryMB), mostMemoryMB)}
}

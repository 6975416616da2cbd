package retry

import "github.com/divvyhq/divvy/shares"

// Queues are the queues of which something is counted, for tests.
func (c *Counts) Queues() map[shares.QueueID]Tally {
	byQueue, _ := c.sums()
	return byQueue
}

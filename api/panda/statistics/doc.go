// Package statistics is what PanDA's monitors and Harvesters ask of how many jobs stand how: /api/v1/statistics.
//
//		dispatcher's counts ──together──▶ by queue, share, class, state ──▶ wire.Tally, or table for what is large
//
//	 1. No job is looked at: answers are sums of what the machine counts anyway.
//	 2. The counts of a share are split among processing types to the last job.
package statistics

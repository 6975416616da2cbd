// Package series samples the state of shares, reads the samples, and says for each hour what shares were promised and given.
//
//	explain.Standing ──Sample, of the leader──▶ share_samples ──ShareSeries──▶ points for plots
//	                                                └──Rate, once an hour is over──▶ fairness_hours
//
// # Tables
//
//	share_samples    a row a share, pool and time; by the day, and kept by it (package upkeep)
//	fairness_hours   the integrals over the samples of an hour, by share and pool
//	wait_hours, user_wait_hours   how long jobs waited, by the hour of their first grant; made of history up to waited.at (Wait)
//
// # Invariants
//
//  1. One daemon samples: the leader. While two believe for a moment that they lead, shares have two samples of that moment, and integrals
//     stay the same.
//  2. An hour is rated two minutes after its end, from its samples alone; a repeat gives the same result. Rating goes on after the newest
//     rated hour. If two daemons rate at once, one sees the other and leaves it the work.
//  3. A sample counts until the next one of its share, and for ten minutes at most: without a leader nothing is known.
package series

// Package series writes down how shares stand, reads their course, and says for each hour what they were promised and given.
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
//  1. One daemon samples: the one that leads. While two believe that they do, which is at most for a moment, shares have two samples of that
//     moment, and integrals come to the same.
//  2. An hour is rated when it has been over for two minutes, and from its samples alone: made again it comes to the same. The hours go on
//     behind the newest one that is rated. Of two daemons that rate at once one finds the other at it and leaves it to that.
//  3. A sample counts until the next one of its share, and for ten minutes at the most: without a leader nothing is known.
package series

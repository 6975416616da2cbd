// Package day is a day of a site in fast motion: all slots are busy, jobs end, fail and are lost, shares have work and have none.
//
//	daemon, site, tasks ─▶ slots filled ─▶ part, rest, part, rest … ─▶ until all is counted ─▶ every attempt, every task
//
// Times of the day are divided by Speed; what pilots and daemon say to each other is not: leases are renewed as often as
// ever, so that a second has Speed times as many ends and starts as at the site, and as many renewals as its leases need.
//
// # What is checked
//
//  1. At each rest every share is within its bound, and at every look no hard limit is exceeded.
//  2. Each attempt that was granted ended as it was reported, was lost with its pilot, or runs; the jobs of each task cover its input once.
//  3. Over the last three quarters memory, tables and latency stay flat, by their trend.
//
// S12 is the same site with jobs of ten minutes, at its own pace, and no work at first.
package day

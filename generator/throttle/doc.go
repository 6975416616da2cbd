// Package throttle keeps tasks within the limits of a site: active tasks, ready jobs and units held, for each user, label or share that
// a limit names; and each within max_running of its own.
//
//	Step: tasks by priority, then age ──judge──▶ rulings: a quota of jobs each, and whether the task waits ──▶ tasks, jobs held or released
//
// # Invariants
//
//  1. Quotas alone promise jobs, on one daemon at a time (pg.LockThrottle), and what was promised is kept.
//  2. A task that waits for room keeps those behind it from taking it, or wide jobs would never start.
//  3. What changed meanwhile is left alone: a ruling is written only on the state that it was made for.
package throttle

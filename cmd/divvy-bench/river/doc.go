// River is the floor of S3: jobs a second of github.com/riverqueue/river, measured as River measures itself.
//
// It is a module of its own so that divvy never depends on River, whose licence is MPL-2.0; 'divvy-bench' builds it
// out of the source tree. One order comes as JSON on standard input, one result goes as JSON to standard output:
//
//	{"dsn": "postgres://…", "jobs": 200000, "warm_up_ns": 1000000000, "duration_ns": 5000000000}
//	{"jobs_per_s": 31012.4, "counted": 155062, "elapsed_s": 5.0, "version": "v0.51.0", "workers": 2000, "connections": 4}
//
// What it takes from River's own 'river bench', since these are the settings that River's authors found best: one client,
// 2000 workers that do nothing, a fetch at most every 2 ms and at least every 20 ms, the table emptied before, and jobs
// that count when their completion is committed and announced, not when the worker returns. What it does in River's
// favour: all jobs are there before the clock starts, the table is vacuumed and analyzed, and neither the start nor
// the end of the run counts, only what lies between.
package main

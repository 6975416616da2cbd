// Package pilots serves what pilots call thousands of times a second: pull, renew, finish.
//
// So these routes are by hand from end to end: taken off the connection without net/http (internal/door) and before the router, read and written
// without reflection (scan.go, requests.go, replies.go), counted without a look-up of labels, bounded in time without a context each
// (door.Begin). A body that is out of the
// common shape is left to encoding/json, whose verdict and words are then the answer; tests and fuzz targets hold the readers
// and writers against it. What a request may have is in check.go.
//
// Pulls are refused while renewals and ends pile up, which cost the work of a job when they come too late (load.go). A pull that
// waits ends when what has let it in is taken back (waits.go): the only state here, with one timer for all that wait.
//
// In one run, handlers only, CPU and allocations, through encoding/json and the router → by hand: a pull 7.9 µs, 28 → 2.0 µs,
// 6; a pull of 16 18 µs, 73 → 5.6 µs, 8; a renew of 16 28 µs, 60 → 7.5 µs, 7; a finish of 16 45 µs, 108 → 12.7 µs, 24.
// With connection and client, in another run, pulls that wait for a batch: 33 µs, 29 behind net/http → 23 µs, 6 behind
// the door; an empty chi handler on net/http takes 25 µs, 26 (BenchmarkBatchedPullHTTP, BenchmarkEmptyHTTP).
package pilots

// Package pilots serves what pilots call thousands of times a second: pull, renew, finish, and what attempts write while
// they are followed (output.go).
//
// So these routes are taken off the connection without net/http (internal/door) and before the router, counted without a look-up
// of labels, and bounded in time without a context each (door.Begin). Their JSON is read and written by
// github.com/go-json-experiment/json, the encoding/json/v2 of Go 1.27, set to mean what encoding/json means. A body that it
// refuses is left to encoding/json, whose verdict and words are then the answer. What a request may have is in check.go.
//
// Pulls are refused while renewals and ends pile up, which cost the work of a job when they come too late (load.go). A pull that
// waits ends when what has let it in is taken back (waits.go): the only state here, with one timer for all that wait.
//
// With connection and client, pulls that wait for a batch: 33 µs, 29 allocations behind net/http → 23 µs, 6 behind the door; an
// empty chi handler on net/http takes 25 µs, 26 (BenchmarkBatchedPullHTTP, BenchmarkEmptyHTTP, before the library: + 3 µs a pull).
package pilots

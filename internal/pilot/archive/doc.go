// Package archive keeps the whole logs of a pilot's jobs: in a folder, or at a server that speaks S3.
//
//	PLACE/7-1/stdout.log    of attempt 1 of job 7; a stream without a byte has none
//	PLACE/7-1/stderr.log
//
// A place that is full or away costs no job and no outcome: Keep returns an error, after a bounded time, and the caller
// says so beside the outcome.
package archive

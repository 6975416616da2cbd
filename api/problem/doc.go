// Package problem is the only table from errors of the packages below to answers: status, code, title and hint (errors.go). Of turns any
// error into the answer; Faults collects the faults of one request. An answer has at most Most errors, with bounded texts, and repeats no
// secrets of jobs.
package problem

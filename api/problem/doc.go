// Package problem is the one table from errors of the packages below to what a client is told: status, code, title and hint
// (errors.go). Of is the way from any error to the answer; Faults gather what is wrong with one request. An answer tells at
// most Most errors, with bounded texts, and repeats nothing of what jobs are given.
package problem

// Package edge is what stands around every handler of the API: it gives a request its id, span, metrics and line in the log, ends
// panics, and lets through who has a right to the route (rights.go, the one table) and asks for no more than its rate (pace.go).
// An Exchange is one request and its answer as the edge sees it; an error is logged once, here, by Fail or Sign.
package edge

// Package edge wraps every handler of the API. It gives a request its id, span, metrics and log line, recovers from
// panics, and admits callers that have a right to the route (rights.go, the only table) and keep within their rate
// (pace.go). An Exchange is one request and its answer as the edge sees it. Fail and Sign log an error once, here.
package edge

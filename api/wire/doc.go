// Package wire defines the JSON shapes of the native API: what api answers and reads, and what api/client sends and returns.
//
//	shapes.go    made from the types that the daemon serves, by `go test ./api -run Wire -update`
//	answers.go   answers of the API itself, problem.go errors, input.go inputs of tasks, words.go enumerations
//
// # What is promised
//
//  1. It imports the standard library only, so that any program can import it.
//  2. A type has the name that api/openapi.json gives it, and the same fields in the same order.
//  3. Shapes only encode, decode and print themselves. The daemon checks them.
package wire

// Package cli is what all commands share: their streams, the daemon that they ask and with which credentials, how they print results
// (tables, JSON, YAML), what arguments they take and how these are completed, and what is said of errors.
//
// A command that is a call of the API is a line of Answer, Items, ByID, Each or Listing: the call, and how its answer is written for
// people.
//
// Exit codes: see package fail. Results go to stdout, everything else to stderr. -o json prints the API's own shapes. Colours and
// progress bars only on a terminal, never with NO_COLOR.
package cli

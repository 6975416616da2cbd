// Package history measures what millions of ended jobs cost those that live: whole lives over HTTP and the size of the live tables in a new
// database, with the history of months behind it, which is generated, and while that is dropped day by day as the daemon does it.
package history

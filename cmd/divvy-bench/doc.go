// Command divvy-bench measures divvy beside what PostgreSQL and HTTP can do on the same machine in the same minutes: see
// docs/performance.md and cmd/divvy-bench/suite. The daemon that it measures is package serve, as divvy runs it.
package main

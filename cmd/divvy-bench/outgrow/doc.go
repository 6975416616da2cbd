// Package outgrow measures what each step in the life of a job costs a database (bytes of tables and indexes, WAL, processor time), then whole
// lives beside reports that are read all the time: none, on the same server, on a streaming replica of it. docs/outgrow.md has what follows.
package outgrow

// Package swf reads traces in the Standard Workload Format, version 2 (Feitelson's Parallel Workloads Archive), and
// maps their users and groups to shares. Pure: it reads from an io.Reader and knows no files.
//
//	; MaxProcs: 240                                        a comment of the head: "; Key: value"
//	1 0 308434 31405 30 31405 -1 30 37980 -1 1 1 1 -1 -1 1 -1 -1
//
// A line is a record of 18 columns: job, submit, wait, run time, processors, CPU time of a processor, memory, requested
// processors, time and memory, status, user, group, executable, queue, partition, preceding job, think time. Columns
// behind them are passed over. Times are seconds, submit counts from the beginning of the trace, -1 is unknown. Lines
// that begin with ; are comments.
//
// # Promises
//
//  1. Records with something broken in a column that is used are left out and counted, or, where Read is strict, the
//     error: with file:line, what is wrong and what would be right, up to MaxProblems. No input makes Read panic (fuzzed).
//  2. Records come in the order of the file. Where columns that a simulation needs are unknown others stand in: the
//     CPU time of a processor for the run time, the requested processors for those given. Record.Unusable says what
//     no other column could make good.
//  3. What is in a column that is not used, as the wait, the memory or the requested time, does not matter.
package swf

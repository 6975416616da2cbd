// Package running keeps the leases of jobs, by job, by request and by node, and the orders to end some of them.
//
//	Add(granted) ──▶ Leases ──Of(job)──▶ Lease, with the order that its pilot is to be told
//
// # Invariants
//
//  1. A job has at most one lease.
//  2. Same entries, same leases (Digest). Renewals are soft and not kept here. The begin of a lease is soft as well: the tables, which a
//     start reads, know it better.
//  3. A kill of any number of jobs is one note at their task; no lease is looked at. The note goes with the last lease of the task.
//  4. A lease takes little memory: a million of them are some 115 MB without pointers, texts are kept once.
//
// The package is pure, and for one goroutine at a time.
package running

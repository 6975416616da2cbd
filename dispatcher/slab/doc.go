// Package slab keeps many small records by job in little memory: a map of Go takes 20 to 40 bytes an entry beside what it holds, and a
// collector that follows pointers takes time in each. A record stays at its index as long as it lives, so who looks at all of them in
// parts misses none.
//
//	Put(record) ──▶ record at an index ──▶ Get(job), At(index) ──Drop──▶ the index is another's
//
// # Invariants
//
//  1. Nothing takes time in the number of records but All: where the cells of a shard are made anew it is a 256th of them.
//  2. A pointer to a record is good until it is dropped; what it was may be read until the next Put.
package slab

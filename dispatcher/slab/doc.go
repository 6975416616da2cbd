// Package slab keeps many small records by job in little memory. A Go map takes 20 to 40 bytes an entry beside its contents, and the
// collector takes time for each pointer. A record keeps its index as long as it lives, so a reader that scans all records in parts misses
// none.
//
//	Put(record) ──▶ record at an index ──▶ Get(job), At(index) ──Drop──▶ the index is another's
//
// # Invariants
//
//  1. No operation takes time in the number of records, except All. When the cells of a shard are made anew that
//     costs a 256th of them.
//  2. A pointer to a record is valid until the record is dropped; the dropped value may be read until the next Put.
package slab

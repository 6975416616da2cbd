// Package entry defines the log: batches, and the entries in them.
//
// An entry says what happened, not which rows change: the machine (package machine) derives its state from entries, the fold derives tables.
// Entries of a batch are in the order in which they were decided. All readers that apply the same batches in order reach the same state, byte
// for byte, so nothing in here may depend on anything but the batch.
//
// # What a batch promises
//
//  1. Seq is one more than that of the batch before it; ID is drawn by its writer; After is the ID of the batch before it.
//  2. At is the database's clock at the append. It never falls: if the clock went back, the batch has the time of the batch before it. No
//     decision depends on it. The machine's time passes by Tick alone, whose time is the At of an earlier batch.
//  3. (job, attempt) is granted at most once, and ends at most once after that.
//  4. Ranges of ids are dense: every id from Low to High is a job, and all of them are alike.
//
// The package is pure: it imports the packages job and shares and the standard library.
package entry

// Package entry has the words of the log: batches, and the entries of which they are made.
//
// An entry says what happened, not which rows change: the machine (package machine) makes its state of them, folds make
// tables of them. Entries of a batch stand in the order in which they were decided. Whoever applies the same batches in
// their order has the same state, byte for byte, so nothing in here may depend on anything but the batch.
//
// # What a batch promises
//
//  1. Seq is one more than that of the batch before it; ID is drawn by its writer; After is the ID of the batch before it.
//  2. At is the database's clock at the append. It never falls: a batch whose clock went back has the time of the batch before it.
//     It decides nothing. Time passes for the machine by Tick alone, whose time is the At of a batch that was appended before.
//  3. (job, attempt) is granted at most once, and ends at most once after that.
//  4. Ranges of ids are dense: every id from Low to High is a job, and all of them are alike.
//
// The package is pure: it imports the words of jobs and shares and the standard library.
package entry

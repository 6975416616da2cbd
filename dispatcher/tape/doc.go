// Package tape has the form in which the decisions of a dispatcher are recorded, with all that they follow from, so that
// another implementation can be fed with the same and held against them.
//
// A tape is a sequence of entries in the order in which the dispatcher counted them. It is a file of JSON lines, compressed with
// gzip. A reader that applies every entry before a Pull knows what the dispatcher knew when it decided that pull.
//
// # Invariants
//
//  1. Exactly one field of an Entry is set.
//  2. Shapes, shares and queues are known before an entry names them.
//  3. A Grant names a job that is ready at that moment; the entries after it count the job as held.
//  4. A job leaves its place by a Grant or by Withdrawn, and is ready by Ready, by Ended with Again, or by TakeBack. A job that
//     changes its place, share or shape is Withdrawn and then Ready.
//  5. Ids are exact: a Span has no id of a job that the entry is not about.
//  6. An Adopt without a site adopts the former site again: what a dispatcher forgets at an adoption (who was granted something
//     last, to whom it owes units) is forgotten then too.
//  7. The grants of an Undone pull are the first ones that it would get; a dispatcher that knew all would go on. They are followed by
//     their TakeBacks, the last grant first.
//
// The package is pure, and imports the words of jobs and shares and the standard library.
package tape

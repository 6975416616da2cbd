// Package machine is the dispatcher's state as a pure machine over the log: what is held, wanted and ready, and who gets the next
// slot.
//
//	            Apply(entry)                          a follower, and a start: entry by entry, in the order of the log
//	entries ─────────────────▶ Machine
//	            Decide(pull)  ◀──▶ grants             the leader: decides and applies at once; the entries go to the log then
//
// Whoever leads is ahead of the log by what is on its way to it. When that is not committed the leader drops its machine and
// makes another one of what was: a machine takes nothing back.
//
// # Invariants
//
//  1. Same entries, same state, byte for byte (Digest), whoever decided them. What Decide remembers beside that is soft: which
//     leaves have nothing for a kind of slot, how long pulls wait for jobs to be made, what resources keep back. A new leader
//     begins it anew, and every part of it has an end in time.
//  2. There is no clock, SQL, context, lock, goroutine or log. Time passes by Tick; Pull.At is for soft state alone.
//  3. An entry is applied as a whole or refused as a whole. A refused one means that the log is broken, or the caller.
//  4. No hard limit (slots of a queue, capacity of a pool, max of a share, target slots, units of a resource, a claim) is exceeded by a
//     decision: each sees every decision before it. A limit that was lowered below what is held admits nothing until enough ended.
//  5. The share order is that of shares.Pool.Choose, pull by pull; nothing else decides between leaves but what a site asks for:
//     units that are owed after a reclaim come first, then floors.
//  6. Within a leaf the order is: the user who holds least, where the share says so; then place, then age. Of shapes that a slot
//     cannot run, or that a gate keeps back, the others go on.
//  7. Verdict None means that no ready job may run in the slot by the state up to this moment.
//
// # How a decision is made
//
// Shapes that differ in resources, sharing ID and user alone have one outline: all but resources goes by outlines, of which there
// are few. Slots that run the same outlines at the same power in the same pool are one kind; for each kind it is known which
// leaves contend, kept up to date as buffers fill and run dry, so that a decision costs the walk down the tree. A leaf that a limit
// or lending keeps back leaves the contenders until that eases. Within a leaf, buffers that ask for resources or name users are
// heads, in the order of their first jobs, and those that a resource keeps back are parked until it eases.
//
// Jobs that are not made yet contend like ready ones where their leaf has nothing else for the slot (Unmade): the caller waits for
// a generator, within bounds of time.
//
// Jobs that hold claims are ready with a variant of their shape: with what the claims ask of a slot now (gate.Sort). Where that is a
// node they are guests: no kind knows them, and the decisions of that node alone meet them. Jobs of a gang start together, in all
// pulls of their node that wait (Pull.Beside), or hold the slots for a time (Held).
//
// Every live job is in one place: ready, aside (its task is paused, or it waits for a rule), or leased. Verbs (verbs.go) move ranges
// between these. A kill is kept with its task and met when leases are renewed or end.
//
// # What is shown
//
// View has what the machine holds, wants and has ready, as values. Ask says what a decision would say of one job at a queue: which
// gate refuses it, or who comes first. It goes by the functions of decisions and leaves all that is soft as it was; what would be
// kept from decision to decision it works out anew.
package machine

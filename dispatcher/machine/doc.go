// Package machine is the dispatcher's state as a pure machine over the log: what is held, wanted and ready, and which job gets the next slot.
//
//	            Apply(entry)                          a follower, and a start: entry by entry, in the order of the log
//	entries ─────────────────▶ Machine
//	            Decide(pull)  ◀──▶ grants             the leader: decides and applies at once; the entries go to the log then
//
// The leader is ahead of the log by the entries on their way to it. If these are not committed the leader drops its
// machine and builds another one from the log: a machine takes nothing back.
//
// # Invariants
//
//  1. Same entries, same state, byte for byte (Digest), on every daemon. What Decide remembers beside that is soft: which leaves have nothing
//     for a kind of slot, how long pulls wait for jobs to be made, what resources keep back. A new leader begins it anew, and every part of
//     it ends in time.
//  2. There is no clock, SQL, context, lock, goroutine or log. Time passes by Tick; Pull.At is for soft state alone.
//  3. An entry is applied as a whole or refused as a whole. A refusal means that the log or the caller is wrong.
//  4. No decision exceeds a hard limit (slots of a queue, capacity of a pool, max of a share, target slots, units of
//     a resource, a claim): each decision sees every decision before it. A limit that was lowered below what is held
//     admits nothing until enough leases have ended.
//  5. The share order is that of shares.Pool.Choose, pull by pull. Two wishes of a site go before it: units owed after a reclaim come first,
//     then floors.
//  6. Within a leaf the order is: the user who holds least, if the share says so; then order key, then age. Shapes that the slot cannot run,
//     or that a gate keeps back, do not stop other shapes.
//  7. Verdict None means that, by the present state, no ready job may run in the slot.
//
// # How a decision is made
//
// Shapes that differ only in resources, sharing ID and user have one outline. Outlines are few, and everything but resources goes by them.
// Slots that run the same outlines at the same power in the same pool are one kind. For each kind the machine knows which leaves contend,
// kept up to date as buffers fill and run dry, so that a decision costs the walk down the tree. A leaf that a limit or lending keeps back
// leaves the contenders until that eases. Within a leaf, buffers that ask for resources or name users are heads, in the order of their first
// jobs; those that a resource keeps back are parked until it eases.
//
// Jobs that are not made yet contend like ready ones if their leaf has nothing else for the slot (Unmade): the caller waits for a generator,
// for a bounded time.
//
// Jobs that hold claims are ready under a variant of their shape, which includes what the claims ask of a slot now (gate.Sort). If that is a
// node they are guests: no kind knows them, and only decisions for that node see them. Jobs of a gang start together, in all waiting pulls of
// their node (Pull.Beside), or hold the slots for a time (Held).
//
// Every live job is in one place: ready, aside (its task is paused, or it waits for a rule), or leased. Verbs (verbs.go) move ranges between
// these. A kill is kept with its task and takes effect when leases are renewed or end.
//
// # What is shown
//
// View returns what the machine holds, wants and has ready, as values. Ask says what a decision would say of one job
// at a queue: which gate refuses it, or which job comes first. It uses the functions of decisions and leaves all soft
// state unchanged; instead of using that state it computes it anew.
package machine

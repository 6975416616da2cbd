// Package replay reads the log again: what each decision was, who came second and why, and what another site would have decided.
//
//	checkpoint ──▶ Player ──Play(batch)──▶ a Turn a grant: the machine's state right before it
//	             log                       ├─Decided──▶ Recent, Fare: decisions as people see them
//	                                       ├─Compare──▶ score: the same job again, or a difference
//	                                       └─rival ───▶ score: who would have got the slot by another site
//
// There are no books of decisions. What a decision saw is the state at its place in the log, and what its pull asked for is in the
// entry Asked of its batch; with both the machine decides it again (machine.Look).
//
// # Invariants
//
//  1. A Player's machine has the state that the log says, whatever comes of a decision that is made again: grants are applied as
//     they were.
//  2. Each grant in the time that is asked for is compared or counted with the reason why not; never both, never neither. But for what
//     the log does not have any more: who drops batches that a checkpoint needs leaves a hole up to the next one.
//  3. By the site that was in force every decision that is compared gives the same job. Not compared are gangs, which start in
//     several pulls at once, and what resources kept for others for a time: both follow from pulls that got nothing.
//  4. A checkpoint has no secrets: no nonce, no key of a request.
//
// # Another site
//
// The rival is a second machine, with the other site, that follows the same log. Slots, jobs and durations stay as they were: a slot that
// was given goes to the job that the rival decides for, until the job that really had it ends; that job ends as the other did. No
// slot asks that did not ask. A job that does not get its slot stays ready, and may get another one. What the log says of jobs
// that the rival does not have in that state (one comes back that never ran) is about the job that had the slot, or left out.
//
// # Checkpoints
//
// Keep writes what a machine is made of into replay_checkpoints: one an hour is enough, for an hour of a busy log is played in seconds, and
// a million leases are 5 MB. Retain says which batches no checkpoint needs: those before the oldest that is kept. Since
// gives one to the fold, which compares its tables with the log from there.
package replay

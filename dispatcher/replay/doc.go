// Package replay reads the log again: what each decision was, who came second and why, and what another site would have decided.
//
//	checkpoint ──▶ Player ──Play(batch)──▶ a Turn a grant: the machine's state right before it
//	             log                       ├─Decided──▶ Recent, Fare: decisions as people see them
//	                                       ├─Compare──▶ score: the same job again, or a difference
//	                                       └─rival ───▶ score: who would have got the slot by another site
//
// Decisions are not recorded. The state at a decision's place in the log is what it saw, and the entry Asked of its
// batch says what its pull asked for; from both the machine makes the decision again (machine.Look).
//
// # Invariants
//
//  1. A Player's machine has the state of the log, whatever a repeated decision says: grants are applied as they were.
//  2. Each grant in the requested time is either compared, or counted with the reason why not, unless the log no longer has it: dropping
//     batches that a checkpoint needs leaves a hole up to the next checkpoint.
//  3. With the site that was in force every compared decision gives the same job. Two kinds are not compared, since
//     they follow from pulls that got nothing: gangs, which start in several pulls at once, and units that resources
//     kept for others for a time.
//  4. A checkpoint holds no secrets: no nonce, no key of a request.
//
// # Another site
//
// The rival is a second machine, with the other site, that follows the same log. Slots, jobs and durations stay the same. A granted slot goes
// to the rival's choice until the job that really had it ends; then the rival's job ends in the same way. There are no other pulls. A job
// that does not get its slot stays ready, and may get another one. An entry about a job that is in another state for the rival (such as a
// return of a job that never ran) applies to the job that had the slot, or is left out.
//
// # Checkpoints
//
// Keep writes a machine's state into replay_checkpoints. One an hour is enough: an hour of a busy log is played in seconds, and a million
// leases take 5 MB. Retain says which batches no checkpoint needs: those before the oldest one. Since gives a checkpoint to the fold, which
// compares its tables with the log from there.
package replay

// Package sim has no code, only tests. They run daemons, pilots, generators, network and log under one seed and one thread, and checks what is promised.
//
//	Draw(seed) ──▶ Plan ──▶ Run(plan, wiring) ──▶ Result: what was violated, the history, figures
//
// A Plan has all that is drawn beforehand: how many daemons, what pilots and generators do, which faults come when. Run adds the delays of
// messages, drawn by streams of the same seed. So a seed is a history, and a plan with fewer faults is a shorter one of the same kind: Shrink
// takes away what a violation does not need.
//
// Most histories are of one share and jobs that ask for nothing. The others have some of: a tree of shares with weights and limits, of which
// some own slots, lend and borrow within limits and take back, between which jobs move; people who put jobs elsewhere in their order; units of
// a resource, split between users or not, of each queue or of all, of which there are fewer for a time, or their owner says so; claims of
// groups, with nodes, devices, units, templates that come late and jobs that start together, some of which are scaled away or never made; a
// claim that people make and delete; a second version of the site and a third, which may take the resource away and bring it back; tasks that
// are paused and resumed, and rules that decide for how long a job waits after an attempt, or that it is over. Half of the starts make their
// machine of what tables have (machine.Restore).
//
// The cores under test are lease.Node and the machine, as production runs them. The log is ledgertest.Memory; TestOnPostgreSQL
// plays seeds on the table, and folds it. Everything else here is
// adversary: daemons crash at any step, pause (also between a step and its effects) and come back, their clocks run at different rates and
// leap; messages are late, lost, doubled and reordered; appends fail, are lost before or after the log has them, or arrive late; a failover
// loses the newest batches, with the rows of the outbox as they were then; rows are read late and told twice; folds fall behind. Some pilots say a pull
// again, to any daemon, while it is on its way and after its answer.
//
// # What is checked
//
// With each batch, by a model of its own (truth): a job has at most one lease; it is granted only while it is ready and never after its end; attempts end
// once; none of a paused task is granted, nor one that waits for a rule; each is where the machine has it; limits hold in each prefix; withdrawn jobs are not granted; each row of the outbox is in the log as a whole, once, and in order a task, or refused for a reason; no lease is lost before its TTL since the last
// renewal that was answered, or since a change of leader.
//
// A job is granted for the share and at the place that it has by then, the first of its share, as far as the max of each share on its path lets it, and to the share that is
// furthest below its target, or is owed what was taken back for it, where nothing else keeps jobs back. What is lent and borrowed is within limits. What is taken back is nobody's own, the newest first, and no
// more than the claimer is owed. Its units are there, and those of its claims, as far as the last report of their owner goes that counts. A claim is where the first of its jobs
// was, held by no more than may hold it, with devices that no other claim has; it is free again when it should be; a gang starts as a whole. The
// machine's own books of units, leases and claims are counted again by the model.
//
// At the end: what pilots were told is in the log; no pull was told that there is no job while there was one all the time that it might have; a request has one set of
// leases, and who repeats it is told of them only while they are live; all daemons have the state that the log has, byte for byte; once the faults are over, every job ends. Tests also hold the history of each
// job against porcupine.
package sim

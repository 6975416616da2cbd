// Package dispatcher hands ready jobs to the slots that ask, share by share, and accounts for every one of them.
//
//	Enqueue ──▶ ready ──Pull──▶ leased ──Finish──▶ finished
//	    │        ▲  ▲              │  │              failed     (attempts used up)
//	    ▼        │  └── attempts ──┘  └─────────────▶ cancelled (the task did not want it any more)
//	 waiting ────┘      left: failed or lost; or it was revoked
//	    ▲                           │
//	    └── to be judged, backoff ──┘
//
// A job is a row of jobs from Enqueue until its final state; then it is a row of ended_jobs, for ever.
// It is leased while leases has its row. An attempt that ended is a row of attempts.
//
// # Invariants
//
//  1. At most one lease a job: leases.job_id is the primary key, and a grant locks the job's row.
//
//  2. The fence is (job, attempt, nonce). Whoever renews or finishes with another one gets lease_lost and changes nothing.
//
//  3. Every change of a job's state is a move in the ledger, written by the transaction that makes it.
//     Held units, ready jobs and the counts of tasks are sums over the ledger, exact at every commit.
//
//  4. A lane of the ledger is written by one transaction at a time: seq has no gaps and commits in order,
//     so "everything after n" is never missed by a reader. What a failover loses of a lane was counted by daemons of
//     another timeline: these grant nothing more, and start anew.
//
//  5. cap = held + free + escrow for every hard limit (queue slots, pool capacity, max of a share, target slots, units
//     of a resource).
//     A daemon spends only what it holds in escrow; a closed one has none, and what it ends before it hears of that is
//     free for all (regain). A grant commits only under the limit epoch that it was
//     decided under; a change of the site or the end of a daemon raises the epoch behind all grants in flight.
//
//  6. The share order of one daemon is that of shares.Pool.Pick, pull by pull; nothing else decides.
//
//  7. No pull is answered "nothing" while a job exists that its slot may run: a window that is not read yet,
//     or an escrow that is elsewhere, makes the pull wait for it.
//
//  8. Jobs of one share and shape are given by priority, whoever asks; those of the same priority by age while one
//     daemon leases, as is the rule: the eldest decides for all that reach it (Seniors). Daemons that decide side by side
//     deal the jobs out among themselves (slice): one may pass over older ones that are another daemon's to take first.
//     Of N daemons that cannot hand their pulls on and decide side by side, each misses a grant of every other at the most: at rest a
//     node is above its target by less than N jobs. It may be below by more, by what its siblings are above together.
//
//     In a share that gives turns to users (within: fair_user) the jobs of one user are in this order, and before it goes who
//     holds least of the share in the pool, by the ledger, of those who hold as much who was served longest ago (users).
//
//  9. The database's now() is the only clock of a lease. None runs out for Timing.Grace after the database, or all daemons,
//     were away for more than some seconds: whoever comes back with a renewal or an end until then has it accepted.
//
//  10. An attempt whose pilot was told to give its units back (Reclaim), and that did not finish, is revoked: not charged,
//     and its job is ready at its old place. Its units are held until it ends. A kill wins over it.
//
//  11. The plans in force are those of one moment of the database's clock, written beside the limits (Switch): targets and
//     limits are of the same moment, at every daemon. A window's begin or end is a new epoch, like a new version.
//
//  12. Who is kept back by lending or borrowing contends again as soon as a lease ends or a demand changes; no grant
//     admits what was refused before. Both are checked against what the daemon has read: exact where one decides.
//
//  13. Units of resources are taken with the lease, all that a job asks for or none, and come back when it ends, however it
//     does. What IDs hold and want follows from the ledger (their jobs' shapes name resources and sharing ID), so there is
//     no other count that could differ. Between IDs package resource decides; what it keeps free has an end in time.
//
//  14. Of a gang no job gets a lease unless all that are left of it get theirs in the same transaction: the first time, and
//     each time after nobody held its claim any more. Pulls are held for gangs within a bound in time.
//
// # Attempts that did not finish
//
// Where no rule of the site may be about a failed or lost attempt, its task has no terms (payloads.retry), and it cannot be one too
// many that was lost in a row, its job is ready again in the statement that ends it. Else the job waits, with a row of
// retries, and Judge says by package retry what becomes of it: ready, at once or when its backoff is over, maybe in another
// shape, or failed for good; or it waits on until the generator, which knows what it is made of, has split it (Halve). Such a job is in the counts of waiting jobs; a task that is resumed leaves it alone, a kill ends
// it. What was made of an attempt is noted with it (attempts.judged).
//
// A queue that fails nearly all that it gets, while most jobs of the same shapes finish elsewhere, is in black_holes: its pulls
// get nothing but one job every probe, of all daemons together (reason black_hole), before anything is decided, so that records and replays know
// nothing of it. WatchQueues finds such queues by the ends that a daemon hears of, and lets them go.
//
// # How a pull is served
//
// Pulls gather while the batch before them commits. For each, in order, shares picks among the leaves that have a
// fitting job (contenders, kept up to date as windows open and close), the leaf's best job is taken out of its
// window, and the whole batch is leased in one statement that also writes the ledger row: all or nothing, or, when
// somebody else was at one of the jobs, those that are left. The pull of a job that was gone is decided again.
//
// A window holds the next ready jobs of one (share, shape), read on behind a keyset cursor (place, id), so
// dead rows at the head cost nothing. Jobs that become ready behind the cursor are announced by
// their move (place, ids) and read from there. What a read finds before its move has come is counted first (countFirst).
//
// Jobs that are not made yet contend like ready ones where their leaf has nothing else for the slot (unmade): pulls wait for the
// leaf that comes first with these, so that no slot goes past a share because its tasks are young. That has its bounds in time
// (Timing.Making), and a pull that has got a job by then is answered with it. Order tells generators in which order jobs are
// missed so. How many are to come is read now and then, and counted down as they are made.
//
// Target slots of a queue may be a floor: while fewer cores are held there than it says, who it is for comes first, among those
// whom every gate before the share admits, and after those for whom units were reclaimed. It adds nothing to a target: what is
// held by it counts as held, so that the share gets less elsewhere, and more than its target only as far as the floor is
// above that. What is held below a floor is not reclaimed: the floor would bring it back, and nothing would come to an end.
//
// Pulls may take some jobs only (Only). The label of a task is part of its jobs' shape: other labels, other windows. For one
// task or user there are windows of their own (narrow), read by task; their jobs are in the common windows too.
//
// # How jobs are found
//
// Verbs, lists and narrow windows go along the live jobs of a task by rising id. They find them by job_ranges: Enqueue notes between
// which ids those of a batch are, of each task in it, in its own transaction; a job stays in its range while it lives. Between
// the jobs of a range may be those of other tasks, so whoever reads asks for the task as well.
//
// Windows find ready jobs by ready_ranges in the same way, of each share, shape and place. A job that goes elsewhere, or waits, is
// displaced (a trigger of jobs says so, whoever moves it), and found by the index jobs_displaced from then on: every reader of the ready
// order puts the two together. So is what was made without ranges, by hand or by a daemon of before: the column's default says so, and
// a range of each by task comes of a trigger. Purge drops ranges without jobs; RecountRanges finds jobs that no range has.
//
// # Resources
//
// Shapes that differ in resources and sharing ID alone have one outline: all but resources, and so nearly all of a decision,
// goes by outlines, of which there are few. The windows of a share with one outline that ask for resources are its heads: in
// lots that ask for the same, in the order of their first jobs. A decision asks for the first one only. Where units are used
// up its lot goes out, where an ID has its part its window goes aside: neither costs anything until something eases (an end,
// a limit that has more, another demand, a report, the end of a reservation), and then those are asked whom it may reach. A
// share all of whose jobs are kept back so does not contend.
//
// Users of shares that give them turns are kept so as well: there the user is part of the shape and not of the outline, and windows
// of users are heads, by what their users hold and then by their first jobs. What a user holds follows from the ledger like what IDs hold.
// Elsewhere shapes name no user. Enqueue gives jobs the shapes of their shares; TendUsers does, a bounded number at a time,
// where the order of a share has changed or jobs went to another.
//
// Limits of the keys of a family, and of resources per queue, are made when they are used first: there may be any number.
//
// What jobs read and write (shares.IO) is a resource that no site file has: of each queue with a max_io, in kB/s, not split over
// IDs. Queues without one have no units of their own, no limit, and share their heads and contenders.
//
// # Claims
//
// Jobs of groups hold claims while they have a lease (package resource, sharing.md §5): a node, or devices of it. A claim is a row
// of resource_claims, of which every daemon knows all that are live. The first lease binds it, in its transaction
// (divvy_bind_claims): whoever finds it elsewhere, or a device taken, leases nothing, reads it again and decides again. The end
// of a lease lowers its sharers, in the same statement.
//
// What claims ask of a slot is part of the shape (ClaimNeed): what they still need, or where they are bound. So a window has
// jobs for the same slots, and a decision at one node never looks at shapes that are bound to another. When a claim is bound or
// unbound TendClaims gives its jobs their other shape, as moves in the ledger; until then they are put aside where they stand
// first (sift), and a pull at the place of a claim that was just bound waits for it before it is answered none. sharers, places and devices are a recount of leases after every transaction.
//
// A claim may hold units of resources while it is bound, once for all that share it. In counters and ledger they are one held
// job of a shape that no job has: the resources, whose they are, no cores. The row of the lease that binds the claim has
// its move, none to leased, the row of who unbinds it the move back (lane of claims). So limits, escrow, allowances, rebase
// and a new start need no other count. Jobs of claims that are not bound ask for their own units and those of the claims,
// all or none; what is wanted for claims is no more than the claims want, however many jobs share them. A daemon that
// binds says so to divvy_bind_claims, and one that counts on a bound claim too: it is charged exactly once, whoever is first.
//
// max_sharers is guarded there as well. Jobs of a full claim wait in spans of ids beside their window (park) until it has a
// place. Which claims need something done says resource_claims.tend_at, kept by a trigger; nobody looks at the others.
//
// Outlines of jobs that one node alone can run have no number, and are in no set of contenders: a decision at that node adds
// them for as long as it takes (contenders.enter). Nodes that are alike share one set, and what a leaf wants is counted for
// all nodes of a queue together (sumOf).
//
// # Gangs
//
// The jobs of a claim whose template says gang start together: while it is pending their shape says so (ClaimNeed.Gang), their
// windows give nothing to ordinary decisions, and they stand for the gang. Where shares and priority come to the first of its
// jobs, all that are left of it are looked up: every one made, ready and without a lease. Then resource.Gather says for the
// node of the pull:
//
//	start   all fit into the pulls that wait there, a pull may take several: each gets its jobs, in one transaction, or, when
//	        anything is in the way, none does, and it is decided again. One gang is one step in the order of shares.
//	hold    all would fit if nothing ran there: those pulls that it can use wait. For one gang at a time on a node, one node at
//	        a time for a gang, gang_hold at the most from the first pull on; then the node is anybody's for as long, and
//	        another gang comes first there. A pull whose wait is over is answered none, as ever; the next one of the node counts.
//	wait    it is passed over, as if it had no job for the slot.
//
// Limits, allowances, lending and claims must admit the whole gang. divvy_bind_claims binds the claim for all of its jobs
// only, whatever a daemon believes. Once it is bound it is a claim like others: who is tried again joins alone. When nobody
// holds it any more it is unbound at once, since what is left of it has to start together again. Holds are in memory: a daemon
// sees the pulls in its own line, so that they are of one daemon where pulls are handed on to the eldest; where they are not,
// each holds those that it has, within the same bound.
//
// # Accounting
//
// A lease is charged once, from claim to end: to the share that it has, piece by piece where that changes while it runs. When
// leases are moved (MoveShare, MoveTask, under the Barrier) a trigger writes the piece that ends (lease_pieces), by the clock; an end
// that waited for it may be older, so readers cut pieces at the end. As it is a trigger, a daemon of the version before may move
// leases beside this one, and divvy_drop_days keeps back from it too what is not added yet. The view attempt_pieces is the one place that splits an attempt, at
// those moments and at full hours; roll-ups and views of usage are sums over it. attempts.nth is the order in which Account
// adds attempts to the roll-ups, each once: up to a number before which nobody is left who may still commit one, which is known by
// the locks that whoever takes a number has. No day of attempts is dropped before it is added. The ends of leases write
// nothing for all that but the number. Purge drops old roll-ups by whole days, those by the hour and by the day each after a time of
// their own: what is left of a sum is whole.
//
// # What is kept of a decision
//
// A decision is a function of the tree, of what shares hold and want in the pool, of R, of who contends, and among equals
// of who was granted something longest ago. All of it can be had again, in the order in which the deciding daemon knew
// of it:
//
//   - Its decisions are numbered, leased or not. A record of decisions has the number, R, the kind of slot.
//   - Its diary says after which decision it counted what else: the row of a lane of the ledger (its own lanes of ends, the
//     shared lanes, other daemons' lanes; moves of a row in the order of its arrays), a grant taken back, jobs not
//     generated yet, another version of the site or other plans, what shares remember, leaves that begin or cease to
//     contend for a kind of slot. Its own grants are counted at their number, before they are committed, and not again when
//     their row is: the diary names rows of grant lanes only where a grant's fate was unknown.
//   - Target slots that bound what shares want are told of before the version that they belong to. Who came before its turn,
//     by a floor or since units were owed to it, is recorded as such and not made again; nor is the start of a gang.
//   - A stand in the diary, every minute and after every gap, says where it was: the position in every lane that it
//     knows, grants in flight, the order of the last grants. A checkpoint and the ledger up to these positions
//     give what was ready and held.
//
// The letters of entries are the words in record_diary.go. Where not every decision is recorded the diary breaks off, and
// nothing is replayed up to the next stand. The same holds after a page of it that was lost: what Record writes last says up
// to which decision nothing else was counted, and decisions after that are not made again.
//
// Attempts and ended jobs are stored by day, and so are the records of decisions: who won, who was next, the deficits
// of both and of the winner level by level, who was skipped before it and why, the pull, the ledger row of the grant. Record writes those of committed grants a second later, all of them or a sample.
//
// Explain and Why say what all this comes to for one job, or for two shares: limits by what all daemons hold, then the walk
// of a decision for a slot as large as the queue allows; of what has its slot, the record. Claims are asked what they say to
// the pilots that pulled lately, by the nodes and devices that these named. They change nothing.
//
// Background work is an exported step: Refresh, Expire, Judge, WatchQueues, Reclaim, Fold, Heartbeat, Purge, SpareVacuum, Sample, Partition, Record, Checkpoint,
// Switch, Remember, Reorder, TendClaims, TendUsers, Account, Rate. Each is bounded, idempotent and
// safe on any number of daemons at once.
package dispatcher

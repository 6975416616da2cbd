// Package gate has what may keep a job back beside limits and shares: units of resources, claims and gangs (sharing.md §4 to §6). It
// is part of the dispatcher's machine and follows the log with it: same entries, same state. It knows no buffer and no leaf.
//
// Supplies are the units of resources, with those who wait for them in the order in which they are reached (package resource says
// who may have some). Claims are all claims: who holds them, and at which slots jobs that are ready may run as the claims stand
// now; package resource has the life of one (Claim.Step). Heads are the ready buffers of a leaf in the order in which resources are asked
// for them: what a resource keeps back is parked and costs nothing until that eases.
//
//	Claimed Joined ───▶ Party: jobs that hold the same claims ──▶ Sort: what these ask of a slot now
//	Granted Ended  ───▶ Effects: parties whose sort is another, sorts that are full or are so no more, units to charge
//
// The three have no interface in common but Refusal, which says of each what a job lacked. An interface of calls would be asked for every job;
// here what is kept back is nowhere that a decision looks: parked with the units that it waits for, in a sort that no slot has, or held at a node.
//
// # The idea
//
// Jobs of one sort may run at the same slots, as far as claims go: whatever claims ask is said by the sort, and nothing has to be
// looked at for a single job. So the machine keeps ready jobs by share, shape and sort, and its decisions meet sorts that the slot
// at hand can run: jobs that are bound to another node, or that wait for a claim, are not among them and cost nothing. When a
// claim is bound or unbound its parties get another sort and the machine moves their ready jobs, as ranges of ids. A claim with
// as many sharers as it may have shuts the sorts that depend on it, which is a flag and moves nothing.
//
// # Invariants
//
//  1. The sort of a party is a function of its claims, at every moment.
//  2. A job that is granted holds all its claims or the entry is refused: together or not at all, no device twice, never more
//     than max_sharers, a bound claim with a place at that place only.
//  3. A claim holds units if and only if it is bound or drains: Effects.Charges says when, once each way.
//  4. An entry is applied as a whole or refused as a whole: steps are made on the side and then put in place together.
//  5. Nothing stays of what is over: a party goes with its last job, a claim with its release and its last party, a sort with
//     its last party.
//
// # Gangs
//
// While the claim of a gang is pending the sort of its jobs says so, and ordinary decisions do not meet them. Nodes says for the
// gang that comes first what it does with the slots of a node that ask for jobs: start in them, hold them, or leave them to
// others (resource.Gather). What it knows of nodes is soft: a new leader begins it anew, holds end in time.
//
// # Entries
//
// Which claims there are, who holds them and which devices were taken is said by entries (package entry, claims.go). The rest
// follows: the grant binds, the end of the last lease has it linger (Tick ends that), a lost one unbinds at once, as does any end
// where what is left is a gang. A template that the site lacked comes with the version that has it (Adopted). There is no entry for
// a lost node: it is all its leases, lost in one batch.
package gate

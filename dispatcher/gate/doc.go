// Package gate holds what may keep a job back beside limits and shares: units of resources, claims and gangs (sharing.md §4 to §6). It is
// part of the dispatcher's machine and follows the log with it: same entries, same state. It knows no buffer and no leaf.
//
// Supplies are the units of resources, with those that wait for them in their order (package resource decides who may have some). Claims are
// all claims: who holds them, and at which slots ready jobs may run as the claims are now; package resource defines the life of one
// (Claim.Step). Heads are the ready buffers of a leaf in the order in which they ask for resources: a buffer that a resource keeps back is
// parked, and costs nothing until units come free.
//
//	Claimed Joined ───▶ Party: jobs that hold the same claims ──▶ Sort: what these ask of a slot now
//	Granted Ended  ───▶ Effects: parties whose sort is another, sorts that are full or are so no more, units to charge
//
// The three share no interface but Refusal, which says what a job lacked. An interface of calls would have to be
// asked for every job. Here, decisions never see what is kept back: it is parked with the units that it waits for, in
// a sort that no slot has, or held at a node.
//
// # The idea
//
// As far as claims go, jobs of one sort may run at the same slots: the sort says all that claims require, and no
// single job has to be looked at. So the machine keeps ready jobs by share, shape and sort, and its decisions see
// only sorts that the slot at hand can run. Jobs bound to another node, or waiting for a claim, are not among them
// and cost nothing. When a claim is bound or unbound its parties get another sort, and the machine moves their ready
// jobs, as ranges of ids. A claim with the maximum of sharers closes the sorts that depend on it, which is a flag and
// moves nothing.
//
// # Invariants
//
//  1. The sort of a party is a function of its claims, at every moment.
//  2. A granted job holds all its claims, else the entry is refused: all or none, no device twice, never more than
//     max_sharers, and a bound claim with a place at that place only.
//  3. A claim holds units if and only if it is bound or drains: Effects.Charges says when, once each way.
//  4. An entry is applied as a whole or refused as a whole: its steps are computed aside and then put in place together.
//  5. Nothing remains of ended things: a party goes with its last job, a claim with its release and its last party, a
//     sort with its last party.
//
// # Gangs
//
// While the claim of a gang is pending the sort of its jobs says so, and ordinary decisions do not see them. For the first gang Nodes says
// what happens to the slots of a node that ask for jobs: start the gang, hold the slots, or leave them to others (resource.Gather). Its
// knowledge of nodes is soft: a new leader begins anew, and holds end in time.
//
// # Entries
//
// Entries (package entry, claims.go) say which claims exist, who holds them and which devices they took. The rest
// follows. A grant binds a claim. After the end of the last lease it lingers until Tick ends that; a lost lease
// unbinds it at once, as does any end where only a gang is left. A template that the site lacked comes with the
// version that has it (Adopted). There is no entry for a lost node: that is all its leases, lost in one batch.
package gate

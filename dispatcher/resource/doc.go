// Package resource is the policy of what is scarce: units of a resource, split over sharing IDs, and claims, shared by
// several jobs. Values in, values out; no SQL, no goroutine, and no clock: who asks says what time it is. Sections 4 and 5 of
// sharing.md are the semantic reference.
//
// # Allowances (sharing.md §4)
//
//	Spec ─NewFamily─▶ Family ─Pool(key, queue)─▶ Pool ──Admits──▶ may this ID have so many units now; if not, why and for whom
//	                                             │ ▲ └──Allowances, Explain──▶ for people
//	       SetCapacity SetExternal Hold Want Granted              Bundle ──Admits──▶ the same for a job that needs several
//
// A Pool counts; who goes before whom is for its split, even or weighted, and since when free units are kept for kept. An
// Ask is one question to a Pool.
//
// The IDs of a Pool are those that hold a unit or want one; D = held + wanted. usable = min(capacity, what the outside
// leaves). Allowances split usable, less what exempt IDs hold, over the Ds: the solver of package shares, by equal weights,
// by weights or down a tree, in whole units by the quota method. The odd units, those left when everybody has its exact
// part rounded down, go first to who holds one already, then to who waited longest since its last grant, then by name. Where
// exact parts differ, waiting counts in proportion to the criterion of the quota method: nobody waits for ever beside a
// heavier one, and of those that waited equally long the quota method's choice comes first.
//
// Admits, in this order:
//
//	need > usable − held of all         capacity, or external where the capacity alone would do
//	need > what a booking leaves        reservation, see Bundle
//	exempt                              yes
//	held < allowance, and it is its turn: a unit is left for each that goes before it      yes
//	need ≤ units kept for max_hold      yes: the reservation has ended, anyone may have them
//	else                                allowance: the units are kept for others, by name
//
// Of those below their allowance those go first who are below their exact part rounded down, then who holds least for its
// weight, then who waited longest. With unit jobs turns matter only while somebody holds more than its allowance: otherwise
// there are as many free units as all of them lack.
//
// A job of one unit so needs held + need ≤ allowance. A larger one may take its ID over by less than itself, as in §2;
// otherwise a job that is larger than its ID's part would never run.
//
// A free unit is kept from its first refusal on, at most max_hold. What IDs take in their turn is what was kept least long,
// so that no unit stays idle for longer than that.
//
// Promised, and tested on random histories:
//
//  1. Σ allowance = min(usable, Σ D) without exempt IDs; nobody's is above its D.
//  2. What Admits lets pass never takes a pool over usable.
//  3. Work conservation: while a unit is free, who asks for one gets it, or it is kept for others by name, ≤ max_hold. When
//     all are asked that want one, somebody gets it at once.
//  4. Nobody has less than min(D, floor(usable/IDs)) for longer than one turnover, in which all jobs end that ran at its
//     beginning, whoever is asked first; by weights, less than its exact part rounded down. Down a tree it may be one unit
//     less: a group's odd unit is not always the same group's.
//  5. With fewer units than IDs everybody has its turn, whoever is asked first; in proportion to weights.
//  6. Nothing depends on the order in which IDs came.
//  7. Bundles: all or nothing; nobody waits for ever, however their needs cross. Where each waits for the other's turn, the
//     second pull finds out.
//  8. Hold, Granted and Admits of equal weights: O(log IDs), amortised. By weights and down a tree a split of more than 256 IDs
//     lags behind: it is made anew, in O(IDs log IDs), when a sixteenth of the IDs have changed or a quarter of the units were
//     granted, and before a unit is refused by one that is older than 10 µs an ID (0.1 s of 10,000). So what is promised above
//     of allowances holds of those of the last split, and what of units that are free when that time is over.
//
// A Pool knows no jobs: Want counts the ready units that some slot could run, the ones that are asked for among them. What
// several daemons may hold together is not its business: it says what is fair by what it was told, hard limits are escrow.
//
// Of IDs that neither hold nor want anything the last grants are forgotten once there are many; a forgotten ID that comes
// back has waited since the last of the forgotten grants.
//
// # Claims (sharing.md §5)
//
//	Layout ─Validate─▶ Faults, by field           (site: templates that the task does not declare)
//	   │ ╲──Scaled──▶ Layout ──Scale(from, to)──▶ what drains, what is new
//	   └─Expand──▶ ClaimKeys, and Jobs that hold them
//
//	            granted            scaled away           last holder gone
//	    pending ───────▶ bound ────────────────▶ draining ──────────────▶ released
//	       ▲               │ │                                              ▲
//	       └───────────────┘ └────────────── no job is left ────────────────┘
//	        idle for linger, or all leases lost
//
// A Layout is a task of groups and roles; a ClaimKey says which of its claims, by replicas, and stays the same however the
// task is scaled. Expand makes §5's table. A Claim is one of them with a state, and Step is its whole life: the event goes
// in, the next claim comes out, with what must happen in the same transaction. AdmitsAll is the gate of
// §6 for the claims of a job, together or not at all. Fit says whether all jobs of a gang fit into the slots of one
// node, Gather whether they start, hold slots of the node, or wait.
//
// Promised, and tested on random layouts and lives:
//
//  1. Keys and their order survive scaling: what two layouts have in common stands in both, in the same order. A claim that
//     drains or is released never comes back; one of the same key that is made later is another claim.
//  2. A claim is charged when it is bound, to the payer of the job that binds it, and what was charged is given back to it
//     when the claim is unbound or released: units are charged if and only if it is bound or drains.
//  3. Jobs of a bound claim that takes a node or devices run at that place only. A claim of resources alone has no place:
//     its units are held from anywhere.
//  4. Sharers is a recount of leases, never above max_sharers when one is granted. Jobs is a recount of the jobs that are not
//     over; while one is left that is wanted, its claim is not released.
//  5. A bound claim that nobody holds is bound for linger at most. If the last lease was lost, it is unbound at once.
//  6. A claim made outside of the task is bound, whatever happens, and charged to nobody.
//  7. Fit is exact, or says that it gave up after a bounded search. A hold ends after its bound, and the same gang holds
//     slots of the node again only after others had them for as long.
package resource

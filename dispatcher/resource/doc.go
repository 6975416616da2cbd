// Package resource is the policy of what is scarce: units of a resource, split over sharing IDs, and claims, which several jobs share.
// Values in, values out: callers say what time it is. Sections 4 and 5 of sharing.md are the semantic reference.
//
// # Allowances
//
//	Spec ─NewFamily─▶ Family ─Pool(key, queue)─▶ Pool ──Admits──▶ may this ID have so many units now; if not, why
//	                                             │ ▲ └──Allowances, Explain──▶ for people
//	       SetCapacity SetExternal Hold Want Granted              Bundle ──Admits──▶ the same for a job that needs several
//
// The IDs of a Pool are those that hold a unit or want one; D = held + wanted. usable = min(capacity, what the outside leaves).
// Allowances split usable, less what exempt IDs hold, over the Ds: the solver of package shares, in whole units by the quota method. Odd
// units, left when everybody has its exact part rounded down, go first to holders of one, then to the ID that waited longest since its last
// grant, then by name; by weights, waiting counts in proportion to the method's criterion.
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
// Turns go first to IDs below their exact part rounded down, then to those that hold least for their weight, then to those that waited
// longest. A job may take its ID over its allowance by less than itself: otherwise one that is larger than the allowance would never run.
// A free unit is kept from its first refusal on, at most max_hold; IDs in their turn take what was kept least long.
//
// Promised, and tested on random histories:
//
//  1. Σ allowance = min(usable, Σ D) without exempt IDs; nobody's is above its D.
//  2. What Admits lets pass never takes a pool over usable.
//  3. While a unit is free, an ID that asks for one gets it, or it is kept for others by name, ≤ max_hold. When all are asked that want
//     one, somebody gets it at once.
//  4. Nobody has less than min(D, floor(usable/IDs)) for longer than one turnover, in which all jobs end that ran at its beginning, whoever
//     is asked first; by weights, less than its exact part rounded down; down a tree at times one unit less.
//  5. With fewer units than IDs everybody has its turn, whoever is asked first; in proportion to weights.
//  6. Nothing depends on the order in which IDs came.
//  7. Bundles: all or nothing; nobody waits for ever, however their needs cross.
//  8. Hold, Granted and Admits of equal weights: O(log IDs), amortised. By weights and down a tree a split of more than 256 IDs is made
//     anew when a sixteenth of the IDs have changed or a quarter of the units were granted, and before one older than 10 µs an ID refuses
//     a unit: until then the promises hold of the last split.
//
// # Claims
//
//	Layout ─Validate─▶ faults, by field; ─Scale(from, to)─▶ what drains, what is new; ─Expand─▶ ClaimKeys, and Jobs that hold them
//	Claim  ─Step(event)─▶ the next Claim, and what must happen with it: pending ⇄ bound ─▶ draining ─▶ released
//
// Promised, and tested on random layouts and lives:
//
//  1. Keys and their order survive scaling. A claim that drains or is released never comes back: one of its key that is made later is another.
//  2. A claim's units are charged if and only if it is bound or drains, to the payer of the job that bound it.
//  3. Jobs of a bound claim that takes a node or devices run at that place only; units alone are held from anywhere.
//  4. Sharers is a recount of leases, never above max_sharers when one is granted; Jobs of the jobs that are not over: while one is wanted
//     its claim is not released.
//  5. A bound claim that nobody holds is bound for linger at most. If the last lease was lost, it is unbound at once.
//  6. A claim made outside of the task is bound, whatever happens, and charged to nobody.
//  7. Fit is exact, or says that it gave up. The same gang holds slots of a node again only after others had them for as long as it.
package resource

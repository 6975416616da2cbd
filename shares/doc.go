// Package shares is the policy of sharing: values in, values out; no SQL, no clock, no goroutine. Dispatcher,
// simulator, what-if and explain call these same functions. sharing.md is the semantic reference.
//
//	[]Spec ─Build─▶ Tree ─NewPool─▶ Pool ──Targets, Slots──▶ what each share should hold
//	                  │               ▲ └─Choose, Contest──▶ who gets this slot, and who was next
//	                 Diff             │  Victims, ETA       ▶ who gives a share back what it is short of, and when
//	                                  │  Figures            ▶ deserved, own, lent, borrowed
//	                                  └─ SetWant Hold Granted SetCapacity Remember: what happened
//
// # Demand and owned units, kept up to date in O(depth)
//
//	D(leaf) = min(max, held + want)        D(node) = min(max, Σ D(children))
//	O(leaf) = owned                        O(node) = max(owned, Σ O(children))
//
// What a min asks of the pool beyond what is owned, the share above asks too, see floors.
//
// # The solver: fill(node, R) splits R over the children
//
//  1. own: every child gets min(D, O), of all tiers. If R is less than that: by weight, tier by tier.
//  2. pool: R − Σ O goes to the demand above step 1. Tier by tier, child c gets clamp(λ·w, floor, demand)
//     with the one λ that uses everything up, floor being what min(min, D) of c, or the mins below it together,
//     ask beyond step 1. The floors of later tiers are kept back first. Floors that do not fit are filled by weight,
//     of all tiers together.
//  3. lent: what idle owners leave, each up to its lend, goes to the demand that is left, each up to its
//     borrow, by weight, in the order of the pool. Limits count through all levels, see limits: units that a
//     branch neither uses nor may lend are idle on purpose, and part of no target.
//
// Children of weight 0 come last in each of these, in tier order, equally. Then the same for every child with
// what it got; the root starts with min(R, D).
//
// λ is exact: breakpoints low/w and top/w are sorted and the linear piece that holds the solution is solved. No
// iteration, no division by 0, no result that depends on the order of children. Targets are float64 thousandths of a
// unit, right to far less than Tolerance. Whole units for showing come from Pool.Slots.
//
// # Admission, memory, reclaim, aging
//
// Admits, O(depth): max up the path, then lending and borrowing by quota, see loans; a refusal names node and rule. A
// share with a half_life has its target shifted by what it missed or had too much, see memory. Victims names the jobs
// that an active reclaim ends; the passive one waits for the ETA. Aging.Place is a job's place in the ready order of its
// leaf, Tree.At the tree that windows make of it. Unused features cost nothing.
//
// # Promised, and tested on random trees
//
//  1. With lend and borrow at their default, the children of a node get all of its target or all that they want.
//  2. A larger R never gives any share less; a larger weight never gives its share less.
//  3. Choose equals the walk over a whole solve. It allocates nothing, and depends on nothing but the standing
//     (held, want, order of grants) and its arguments.
//  4. Unit jobs, everybody demanding: held − target < 1 at every node after every grant. Once R = C and every
//     leaf has turned over, target − held < 1 at the nodes below the root, and < depth further down (why not 1:
//     TestWalkCanLeaveALeafShort). For larger jobs read the size of the largest job in the node for 1.
//  5. Whole targets add up at every level and are the exact ones rounded down or up.
//  6. With limits, as long as there is all that is owned and no max below it: targets at R = C are admitted, and limits out of
//     reach change no target. With less than is owned, what serves demand goes first, in targets and in quotas: what shares own and
//     use, then what branches own beyond their children, as in any pool, idle owners last. Quotas are those of C (SetCapacity) at
//     every R. What is granted is within a unit of the target in drawn trees of up to seven nodes where no max is below what is
//     owned and no branch has idle units that some in it may borrow and others not; within two in large ones where only leaves
//     limit what they lend and there is all that is owned. There is no bound beyond that (some units in 3 to 5 of 100 trees of 120
//     leaves): units that a branch leaves are in no target, and admission gives them to any share that may have them.
//  7. Every share gets min(min, D) where, without limits of lending, R covers Σ of max(owned, min, the same of its
//     children) over the shares at the top and no max is below it. Tree.Overcommits names where it is not so.
package shares

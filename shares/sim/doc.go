// Package sim simulates a site: jobs arrive, a rule picks, slots are held and given back. Values in, values out: no
// clock, no goroutine, no SQL. Targets, limits and divvy's own pick are those of package shares, which the dispatcher
// calls as well.
//
//	[]Job ──Run──▶ Engine ──Result──▶ delivered and target over time, waits, fairness (sharing.md §7)
//	                ▲ └─▶ Rule: divvy, ratio, fifo, easy
//	                └── or a replay: whoever has recorded what happened
//
// Package swf below it reads traces.
//
// # The model
//
//  1. One pool of Capacity units. A job takes its units for its run time, wherever they are: no nodes, memory or
//     labels. Nothing is reclaimed or fails.
//  2. At one moment all ends count first, then all arrivals, then starts follow until nothing more may.
//  3. Whenever units are free the rule names the leaf in turn; in a leaf the higher priority goes first, aged if its plan
//     says so, then whoever came first. If that job does not fit the free units, it is promised the moment at which it will, run times
//     being known here. It keeps its turn until then, for otherwise a share with narrow jobs would take every unit that
//     comes free. Meanwhile others may start, again by the rule, that fit and do not delay it: they end before, or leave
//     it its units. So wide jobs do not starve, and few units are idle. In a leaf nobody overtakes. The same
//     holds under every rule but EASY, under which all that does not delay the head of the one line overtakes.
//  4. Leaves whose next job pool.Admits refuses (a max, a limit of lending or borrowing) have no turn under any rule.
//  5. Targets are the solver's at R = Capacity, with D(leaf) = min(max, held + ready): exact at every moment between
//     two events, for every rule. What a rule is measured by is not what it picks by, but for divvy and ratio.
//  6. With a half_life the past shifts the targets, as of the last event. Windows of a plan and reclaim do not act:
//     the plans of the tree are in force all the time. Hand over Tree.At for another moment of the week.
//
// # Promised, and tested
//
//  1. Every job starts once and ends once, or is counted as Never or Stuck; what is held never exceeds Capacity.
//  2. The same configuration, jobs and seed give the same Result. The seed only orders jobs of one instant.
//  3. Under divvy, when plans have neither max nor limits of lending, held − target < the size of the job that was
//     chosen, at every node below the root, as soon as it has its units. (Fairness.OverJobs < 1.) For one that has to
//     wait for them this holds at the moment of the choice, and those that overtake take what it cannot use.
//  4. Fairness.Refused is 0 under every rule of this package.
//
// # Driving an Engine by a record
//
// Run is one driver; a replay is another, and needs nothing that is not exported. Between two recorded moments call
// Advance; then, in the order of the record:
//
//	an arrival, or new demand        AddReady(leaf, units), SetHead(the job that goes next in the leaf)
//	nothing of a leaf is ready       ClearHead(leaf)
//	a lease was granted              ChooseAmong(the heads that the slot could run), to compare; Decided, Start(the recorded job)
//	a lease ended                    End(leaf, units)
//	the site's slots changed         SetCapacity(units)
//
// With the version of the tree that was in force the choices are the recorded ones; a difference is a finding. To ask
// what another tree would have done, make Jobs of the record (arrival, units, run time) and Run them: from the first
// different choice on, what happened is no guide.
package sim

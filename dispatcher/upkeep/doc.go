// Package upkeep makes room ahead in the tables that only grow, and drops what is over.
//
//	Steps(Config) ──▶ []Step: a name, an interval, Run(ctx) (n, err)     the tickers are in cmd
//
//	log room, days ahead, jobs ahead     partitions, long before the first row that needs them
//	old log, history, samples, jobs      partitions, once nobody needs a row of them
//	old rows, old daemons                rows, some thousand at a time
//	nodes                                what attempts cost by node, made of history
//
// # Invariants
//
//  1. A step does a bounded amount of work, may be repeated at any time, and may run on several daemons at once: the second one finds
//     less to do, or nothing.
//  2. Nothing goes by the clock of a daemon: "old" is by the database's now().
//  3. A batch of the log stays until it is folded and every function of Config.Needed does without it. Nothing that is folded goes beyond
//     the newest batch that is, nor before it is in the sums by node.
//  4. Partitions are made empty and attached, which keeps neither readers nor writers waiting. To drop one needs the whole table for a
//     moment: a step waits for it a fifth of a second at most, and writers behind it as long; then it is left for the next time.
//
// # Why there are no default partitions
//
// A default partition takes rows whose day was not made, and then that day can not be made: rows must be moved, under locks, by
// a step of their own. Here a partition is there three days (or a million batches) ahead, and at the start of a daemon before its first write. What
// stops it for three days stops more than that; the first row after it fails loudly, and the next step heals it.
//
// # Why rows of sums are deleted, not partitioned
//
// Of 2.5 million rows of hour_usage one costs 2.5 µs and 69 B of WAL to delete, its vacuum included (PostgreSQL 15). An upsert of the fold
// costs 6.5 µs in such a table and 9 µs in one that has a partition a day, and a row has many of them.
//
// # Why autovacuum is left alone
//
// While somebody holds a snapshot, vacuums read the dead rows of held, idle_ranges and the counts again and again and can remove none:
// 0.16 µs a dead row. A site with 20,000 slots and jobs of ten minutes makes some 280 of these a second. At a nap of 10 s that is 0.8 % of a
// core over the first hour of a snapshot, 5 % over six. To tell autovacuum to wait, table by table, does not pay for a step that changes tables.
package upkeep

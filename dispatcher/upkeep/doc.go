// Package upkeep makes room ahead in the tables that only grow, and drops old rows.
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
//  1. A step does a bounded amount of work, may be repeated at any time, and may run on several daemons at once: the second one finds less to
//     do, or nothing.
//  2. No step uses the clock of a daemon: "old" is by the database's now().
//  3. A batch of the log stays until it is folded and no function of Config.Needed needs it. A folded row stays until a newer batch is folded
//     and the row is in the sums by node.
//  4. Partitions are made empty and attached, which blocks neither readers nor writers. A drop needs the whole table for a moment: a step
//     waits for that a fifth of a second at most, and so do writers behind it; then it tries again next time.
//
// # Why there are no default partitions
//
// A default partition would take rows whose day was not made, and then that day could not be made: a step of its own would have to move rows,
// under locks. Here a partition exists three days (or a million batches) ahead, and at the start of a daemon before its first write. Whatever
// prevents that for three days stops more than partitions; then the first row fails loudly, and the next step heals it.
//
// # Why rows of sums are deleted, not partitioned
//
// Of 2.5 million rows of hour_usage one costs 2.5 µs and 69 B of WAL to delete, its vacuum included (PostgreSQL 15). An upsert of the fold
// costs 6.5 µs in such a table and 9 µs in one that has a partition a day, and a row has many of them.
//
// # Why autovacuum is left alone
//
// While a session holds a snapshot, vacuums read the dead rows of held, idle_ranges and the counts again and again
// and can remove none: 0.16 µs a dead row. A site with 20,000 slots and jobs of ten minutes makes some 280 of these a
// second. At a nap of 10 s that is 0.8 % of a core over the first hour of a snapshot, 5 % over six. Telling
// autovacuum to wait, table by table, is not worth a step that changes tables.
package upkeep

// Package pg is everything that divvy knows about PostgreSQL as such: a pool with sane limits, transactions
// that are tried again when two of them collided, classes of errors, advisory lock classes, embedded
// statements, and a private cluster for people who have no server.
//
// Promises:
//
//  1. InTx commits once or not at all; it runs its function again only after a serialization failure or a
//     deadlock, both of which undo everything the function did in the database.
//  2. IsUnavailable is about the server's reachability, IsRetryable about a collision; no error is both.
//  3. A private cluster (StartCluster) listens on a unix socket in a folder that only its owner may enter, and
//     nothing is ever attached to that does not serve our own data folder.
//  4. No data folder is ever deleted, except that of an ephemeral cluster, which made it itself.
//
// # Who owns a private cluster
//
//	          StartCluster                     owner ends (SIGKILL too)
//	free ───────────────────▶ owned ─────────────────────────────────────▶ free
//	                            │  ▲
//	                   attach   │  │ take over: the first attached process that gets the
//	                            ▼  │ owner's lock starts the server again, under the same DSN
//	                         attached
//
// The owner holds an flock for as long as it lives. The server is the owner's child and gets SIGINT from the
// kernel when the owner dies, so it stops cleanly by itself; whoever takes the lock next starts it again.
// Everybody else may be connected meanwhile and sees an IsUnavailable error for that moment.
package pg

// Package link carries messages between the dispatchers of daemons, over internal/relay, and knows which daemons there are.
//
//	lease.Send ──▶ Links.Send ──▶ one envelope at a time to each peer ──relay──▶ Links of the peer ──▶ Daemon.Receive
//
//	                                             ◀──relay── what the peer has to say, asked for over the same connection (back.go)
//
// # Invariants
//
//  1. A message arrives once or not at all. What is sent while there is no connection is lost: package lease is made for that.
//  2. Which peers there are says the database; which of them can be reached, Daemon.Reach is told: those that this one
//     has a connection to, and those that have one to it. One direction is enough.
//  3. No message has a version of the site. Whoever gets a batch that adopts one drops the batches from there on, and reads them in the log.
//  4. Each start of a daemon is a Member with a number that none had before. One that was silent for long is taken for dead, which only says that
//     nobody calls it: nothing that is decided rests on it.
package link

// Package link carries messages between the dispatchers of daemons, over internal/relay, and knows which daemons are open.
//
//	lease.Send ──▶ Links.Send ──▶ one envelope at a time to each peer ──relay──▶ Links of the peer ──▶ Daemon.Receive
//
//	                                             ◀──relay── what the peer has to say, asked for over the same connection (back.go)
//
// # Invariants
//
//  1. A message arrives once or not at all. Messages without a connection are lost; package lease is made for that.
//  2. The database says which peers exist. Daemon.Reach is told which of them can be reached: those with a connection
//     in either direction. One direction is enough.
//  3. No message holds a version of the site. A daemon that receives a batch that adopts one drops the batches from there on, and reads them
//     in the log.
//  4. Each start of a daemon is a Member with a new number. A member that is silent for long counts as dead, which only means that it is not
//     called: no decision depends on it.
package link

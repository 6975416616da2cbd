// Package link carries messages between the dispatchers of daemons, over internal/relay.
//
//	lease.Send ──▶ Links.Send ──▶ one envelope at a time to each peer ──relay──▶ Links of the peer ──▶ Daemon.Receive
//
// # Invariants
//
//  1. A message arrives once or not at all. What is sent while there is no connection is lost: package lease is made for that.
//  2. Which peers there are says the database; which of them can be reached, Daemon.Reach is told.
//  3. Entries that adopt a version of the site travel by its number. Who does not have that version drops the batches from there on, and reads them.
package link

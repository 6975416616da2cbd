// Package local is a divvy on this machine: a daemon with a private PostgreSQL, and pilots in this process. Demonstrations and single
// commands use it.
//
//	Start ──▶ Server: URL, Client ──Stop──▶ nothing is left        StartSlots ──▶ Slots ──Drain or Kill──▶ nothing is left
//
// # Invariants
//
//  1. The daemon is not the user's: it heeds neither divvy.yml nor DIVVY_ variables.
//  2. Stop ends all jobs, pilots, the daemon and its database, and removes their files.
//  3. With Private no other user of the machine gets in: the daemon asks for a token.
package local

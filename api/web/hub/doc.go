// Package hub tells open pages what has changed, by server-sent events.
//
//	page ──GET /events──▶ Serve: a reader of a topic ◀──Publish, every second or so: each topic is built once──
//
// A topic is a view with its parameters, named by its key; it lives while it has readers, and keepTopic longer. A reader that comes back with
// Last-Event-ID gets what it has missed, or the whole view.
//
// # Invariants
//
//  1. However many read a topic, it is built once a Publish, and of an Update only what differs is sent.
//  2. A reader that lags by more than mostBehind events is dropped: nothing waits for it. It comes back by itself.
//  3. Readers and topics are bounded: one more is refused (ErrTooMany).
//  4. A reader whose session has ended, or whose token was revoked, gets nothing more.
//
// The package starts no goroutine.
package hub

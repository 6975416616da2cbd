// Package relay carries requests from one daemon to another: many at a time over one connection, each with an answer
// of its own, in the order in which answers come.
//
//	caller                                   callee
//	Call ──▶ ask(id, path, body) ─────────▶ Handler
//	     ◀── answer(id, status, …, body) ◀──┘
//	ctx ends ──▶ drop(id) ────────────────▶ ctx of the Handler ends
//	every second ping ────────────────────▶ pong
//
// # Promises
//
//  1. Frames that are written while the one before is on its way leave together: hundreds of requests a system call.
//  2. Call returns ErrBroken when the connection ended before the answer came: it is unknown then whether the request
//     was served. A callee that says nothing for Silence, not even a pong, counts as gone.
//  3. When the connection ends, the contexts of all requests that came over it end.
//  4. A connection begins as an HTTP request with the callee's secret, so it needs no port of its own.
//  5. Both ends work on the same database. A copy of it has addresses and secrets of the daemons too, so the caller shows that
//     it knows its own secret as well, which it wrote when it started: the callee has to find that in its database.
//
// A frame is its length (uint32, big endian, without itself), a kind (one byte), the id of the request (uint64), and,
// for ask and answer, strings with their lengths (uint32) before them.
package relay

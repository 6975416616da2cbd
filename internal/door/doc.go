// Package door serves a few hot routes of an HTTP server without net/http, and leaves everything else to it.
//
//	listener ─▶ door ──plain POST of a hot route──▶ its http.Handler, on the connection's one goroutine
//	              └─────all else, bytes included──▶ net/http, which keeps the connection from then on
//
// net/http takes about 20 µs of processor time a request, most of it for what pilots never send: bodies of unknown
// length, trailers, upgrades, HTTP/1.0, answers in chunks, and a goroutine a request that watches for the end of the
// client. A pilot sends the same few requests again and again, one packet each, and their answers are short.
//
// In turn with net/http, medians with 10,000 long polls: 97 µs of the daemon a claim, not 168 (of 5 pairs; with 1,000: 74, not 94), and
// 50 to 150 MB less (divvy-bench --only S9 --ready 50000 --held 2000 --polls 10000 --round 2s --rounds 2; other side: no Server.Hot).
//
// # What is promised
//
//  1. A handler cannot tell the door from net/http by the request: method, URL, Host, headers, body, TLS and the context's
//     values are the same (a fuzz target holds the reading of heads against http.ReadRequest).
//  2. The door refuses nothing and never guesses. Whatever is not plain goes to net/http as it came: another method,
//     path or version, a body without Content-Length or over MaxBody, Transfer-Encoding, Expect, Upgrade, a header
//     twice that may stand once, a name or value with unusual bytes, a head over maxHead, a request that arrives in
//     pieces with more than a pause between.
//  3. A client that goes away cancels the context of its request, after grace: what is soon over is finished for it. (On
//     Linux; elsewhere an answer that cannot be sent ends the connection.)
//  4. Answers are whole: one status line, headers with Content-Length, body, in one write when the handler has
//     returned. A handler that panics with http.ErrAbortHandler, or with anything else, ends the connection without one.
//  5. Requests on one connection are answered in order, one at a time. Shutdown closes idle connections, lets requests
//     under way be answered (Connection: close), then shuts net/http down in the same way.
//  6. A handler may park its request (Parker): no goroutine waits with it until somebody has the answer.
//  7. Requests are bounded in time without a timer each (Begin), behind the door or net/http.
//
// A handler must not keep the request, its headers or the ResponseWriter after its answer: the connection uses
// them again. Deadlines of a connection are coarse, see slackOf: a deadline a request would cost two timers each.
package door

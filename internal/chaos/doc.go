// Package chaos is what lies between two processes of a test, and goes wrong there. Only _test.go files import it.
//
//	caller ──▶ Wire ──▶ callee       bytes: delayed, held back for ever, or cut with a reset
//	caller ──▶ Courier ──▶ callee    HTTP requests: said twice, late, and out of order
//
// A fault is switched on and off while connections live; those that are open feel it too. A Wire that swallows takes new
// connections and passes nothing on, in either direction, as a host behind a dead link does: nobody is told anything.
// What was swallowed is lost: when the wire heals, connections that lost bytes are reset, as they would be by
// a peer that gave up.
//
// The plays that use it are in internal/e2e, with the build tag chaos.
package chaos

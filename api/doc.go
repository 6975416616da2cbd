// Package api is the daemon's HTTP API: routes, wire checks, errors, and the OpenAPI document.
//
//	POST /v1/pulls /v1/leases/renew /v1/leases/finish          pilots: see package pilots, described in describe.go
//	/v1/tasks /v1/jobs /v1/shares /v1/queues /v1/site /v1/tags  people and scripts: through huma
//	PUT /v1/tasks/{id}/inputs                                   a stream of any length in constant memory (inputs.go)
//	GET /healthz /readyz /v1/login                              without a token
//	GET /metrics /openapi.json                                  with a token, if the daemon requires one
//	/v1/tokens /v1/whoami                                       tokens and their roles (tokens.go), callers (login.go)
//	POST /v1/relay                                              other daemons of the site, with a secret of their own (relay.go)
//
// # Promises
//
//  1. Every error is application/problem+json with a stable code. Package problem is the only table from errors of the
//     packages below to status and code. An error is logged once, at the edge, with its request id.
//  2. A pull is answered 200 with at least one lease, or 204 with Retry-After. While the database is away or the daemon
//     stops it is answered 503 with Retry-After, never "no jobs".
//  3. Requests of pilots ignore unknown fields, so that pilots and daemons of different versions work together.
//     Submissions refuse unknown fields, each with its position.
//  4. When a client disconnects, the context of its request is cancelled and the work for it stops; on a hot route only
//     if the request has lasted longer than 50 ms.
//  5. Bodies are bounded: 64 KiB for a pull, 8 MiB for anything else, 1 MiB a line for inputs. A client must send its
//     body within a minute, and read the answer within a minute; long polls and streams extend their deadlines.
//  6. Lists are {"items": [...], "next": "cursor"}; next is empty on the last page. Cursors are opaque.
//  7. The served document is api/openapi.json byte by byte, and the routes of pilots behave as it says;
//     tests check both. `go test ./api -update` rewrites it and docs/http-api.md.
//  8. edge/rights.go is the only table of roles and routes, for the API and the page. A route that it lacks needs an
//     admin; a test compares it with the router. own.go wraps the packages below and restricts submitters and share
//     owners further, so that no route can forget to. A daemon that requires no credential trusts its network, but no
//     browser: it refuses requests made by a page of another origin and, on loopback, any Host that is not loopback
//     (DNS rebinding). access.Book knows callers by token, access.Outside by other credentials. Package edge bounds the
//     requests of each caller, except renewals and ends. When a credential is revoked, its waiting pulls (package
//     pilots) and its streams of the page end.
//  9. The leader serves pulls and ends, whichever daemon receives them (relay.go). If the leader goes away meanwhile,
//     this daemon serves the requests that may be repeated; a pull without a request id is answered 503.
//
// The package holds no state. needs.go declares what it needs of the packages below.
package api

// Package api is the daemon's HTTP face: routes, wire checks, errors, and the OpenAPI document.
//
//	POST /v1/pulls /v1/leases/renew /v1/leases/finish          pilots: see package pilots, described in describe.go
//	/v1/tasks /v1/jobs /v1/shares /v1/queues /v1/site /v1/tags  people and scripts: through huma
//	PUT /v1/tasks/{id}/inputs                                   a stream of any length in constant memory (inputs.go)
//	GET /healthz /readyz                                        free of tokens
//	GET /metrics /openapi.json                                  behind a token, when one is asked for
//	/v1/tokens                                                  who may do what (tokens.go)
//	POST /v1/relay                                              other daemons of the site, by a secret of their own (relay.go)
//
// # What is promised
//
//  1. Every error is application/problem+json with a stable code. Package problem is the one table from errors of the
//     packages below to status and code; an error is logged once, at the edge, with its request id.
//  2. A pull is answered 200 with at least one lease, or 204 with Retry-After. A database that is away or a daemon
//     that stops is 503 with Retry-After, never "no jobs".
//  3. Requests of pilots ignore unknown fields, so pilots and daemons of different versions mix. Submissions refuse
//     them, each with its place.
//  4. A client that goes away cancels the context of its request, on a hot route one that lasts longer than 50 ms;
//     whoever works for it stops.
//  5. Bodies are bounded: 64 KiB for a pull, 8 MiB for anything else, 1 MiB a line for inputs. Deadlines hold: a body
//     must arrive, and an answer be taken, within a minute; long polls and streams move theirs on as they go.
//  6. Lists are {"items": [...], "next": "cursor"}; next is empty on the last page. Ids inside a cursor are
//     nobody's business.
//  7. The served document is api/openapi.json byte by byte, and what it says of the pilots' routes is what they
//     do: both are tests. `go test ./api -update` rewrites it and docs/http-api.md.
//  8. edge/rights.go is the one table of roles and routes, for the API and the page; a route that is not in it is an admin's, and a
//     test holds it against the router. What a submitter or share owner is bound to further, own.go sees to, around the
//     packages below, so that no route can forget it. Where no credential is asked for the API trusts its network, but no browser: requests that a page of another origin makes are
//     refused, and on loopback so is any Host that is not loopback (DNS rebinding).
//     Who a request is of: by a token of access.Book, else by what access.Outside knows of others. What one caller asks
//     for is bounded, but for renewals and ends (package edge). A pull that waits ends when what has let it in is taken back (package pilots),
//     a stream of the page likewise.
//  9. Pulls and ends are served by the daemon that decides, wherever they arrive (relay.go). When it goes in the middle,
//     what may be repeated is served here; a pull without a request id is answered 503.
//
// The package holds no state. What it needs of the packages below is in needs.go.
package api

// Package web is the page for people: HTML that needs no scripts, kept up to date by server-sent events, with every view as JSON too.
//
//	GET  /  /shares/…  /queues  /tasks  …     a View: its Show gives what there is to see, its template the page
//	GET  the same with ?format=json            what Show gave, as JSON; so does Accept: application/json
//	POST paths of an Act                       what people change by a form
//	GET  /events?of=PATH                       a View's changes, for as long as the page is open (hub, events.go)
//	GET  /assets/…                             the style sheet and the bundled scripts, in the binary (assets.go)
//	GET  POST /login, POST /logout             where there are tokens: a token for a session of the browser (login.go)
//	GET  /login/start, /login/back             the same by a login at an issuer of web tokens (issuer.go)
//
// # What is promised
//
//  1. No view needs scripts, and none needs another host: Content-Security-Policy default-src 'none', and scripts,
//     styles and connections of its own origin only. No inline script, no inline style.
//  2. A page and its JSON are made of one value, which says its own time (Dated).
//  3. All readers of a view share one build of it a second (Hub.Publish). A reader that is too slow is dropped and
//     comes back by itself with Last-Event-ID. When builds take long they get rarer: the ticker in cmd rests for a
//     multiple of their time, so that pages do not take the time that pilots need.
//  4. Callers of /v1 may see the page: with tokens, a bearer token or a session made from one; without, everyone who
//     reaches the port, except pages of another origin and rebound names.
//  5. GET changes nothing. A form carries a token of the browser that asked for it, and an act that cannot be undone
//     needs a second page that asks (Confirm).
//  6. Errors of a page are pages, with the words of the API's problem: its code, detail, hint and request id.
//
// The package decides nothing and keeps nothing but its readers; it asks the packages below for all that it shows (needs.go). It starts no
// goroutine.
package web

//go:generate go -C bundle run . ../src ../assets

// Package web is the page that the daemon shows to people: HTML that is whole without scripts, kept up to date by
// server-sent events, and every view as JSON too.
//
//	GET  /  /shares/…  /queues  /tasks  …     a View: its Show gives what there is to see, its template the page
//	GET  the same with ?format=json            what Show gave, as JSON; so does Accept: application/json
//	POST paths of an Act                       what people change by a form
//	GET  /events?of=PATH                       a View's changes, for as long as the page is open (hub.go, events.go)
//	GET  /assets/…                             the style sheet and the bundled scripts, in the binary (assets.go)
//	GET  POST /login, POST /logout             where there are tokens: a token for a session of the browser (login.go)
//
// # What is promised
//
//  1. No view needs scripts, and none needs another host: Content-Security-Policy default-src 'none', and scripts,
//     styles and connections of its own origin only. No inline script, no inline style.
//  2. A page and its JSON are made of one value. That value says of when it is (Dated), and so do page and JSON.
//  3. All that is open on a view is served by one build of it a second, whoever looks (Hub.Publish); a reader that does
//     not keep up is sent away and comes back by itself with Last-Event-ID. When builds take long they get rarer: the
//     ticker in cmd rests for a multiple of what they took, so that pages cannot eat what pilots need.
//  4. Who may see the page is who may call /v1: with tokens, a bearer token or a session made of one; without, everybody
//     who reaches the port, but no page of another origin and no rebound name.
//  5. Nothing changes by GET. A form carries a token of the browser that asked for it, and what cannot be undone takes a
//     second page that asks (Confirm).
//  6. Errors of a page are pages, with the words of the API's problem: its code, detail, hint and request id.
//
// The package decides nothing and keeps nothing but who listens; all that it shows it asks of the packages below
// (needs.go). It starts no goroutine.
package web

//go:generate go -C bundle run . ../src ../assets

// Package access knows who may do what: tokens, roles, and whom a request comes from.
//
//	Create ──▶ live ──Revoke──▶ revoked            a row of tokens, never deleted
//	             └──── expires_at ──▶ expired
//
//	request ──token──▶ Book.Find ──▶ Caller{Role, User | Queues | Share} ──▶ the API's table of rights
//	                      ▲
//	tokens ──Refresh──────┘   on NOTIFY divvy, 'tokens', and every few seconds
//
//	request ──certificate or JSON web token──▶ Outside ──a line of tls_roles or issuers──▶ Caller
//
//	Entrance asks both, in this order, for the native API and for PanDA's
//
// # Invariants
//
//  1. A token is 256 random bits. Only its SHA-256 is stored; the text exists once, in the answer of Create. Its prefix is
//     stored too and shown in lists, so that a token that was found somewhere can be named and revoked.
//  2. Find asks memory only, in time that does not tell how much of a hash fits. Neither it nor anything else on the way
//     of a pull asks the database.
//  3. What was revoked or has expired is let in no more within RefreshEvery of the daemons that reach the database, at once
//     as a rule. A daemon that does not reach it goes on with what it knows: pulls, renewals and ends need the database.
//  4. Last use is written by MarkUsed, for all tokens at once and once a minute at the most, never by a request.
//  5. A token has one role. What it is bound to goes with the role and only with it: a pilot's queues (none = any), a
//     submitter's user, a share owner's node. Table, Validate and tests say the same.
//  6. Names of tokens that are not revoked differ. A Caller is not written after it was made.
//  7. A credential with origins is good on PanDA's API only, for requests that name one of them; its Caller is a copy with that origin.
//  8. Credentials of others, client certificates and JSON web tokens, are let in by a line of a file only, the first that fits;
//     what that line binds them to is Validate's as well. Faults in these files have their place.
//
// The table tokens is written by this package only.
package access

// Package login logs people in at an issuer of tokens (OIDC), and keeps what a login gave for later commands.
//
//	terminal   Client.Begin ── URL and code ──▶ a person's browser, anywhere      RFC 8628
//	           Device.Wait  ◀── tokens ──┘  ──▶ Kept.Put
//	command    Kept.Token ── still good ──▶ sent
//	               └── over ──▶ lock ──▶ read again ──▶ renew ──▶ file replaced ──▶ sent
//	page       Code.URL ──▶ the issuer ── state, code ──▶ Code.Token ──▶ a session of the browser
//
// # Invariants
//
//  1. A login is a file of mode 0600, one for each server; a file that others may read is refused. Its token is sent to that server
//     only, its refresh token to the issuer only.
//  2. A refresh token is used once: a renewal holds the lock of the file, reads it again, and replaces the file by a rename before
//     the new token is used. A command that is interrupted finishes the renewal first. Only a crash between the issuer's answer and
//     the rename costs a login.
//  3. A renewal that gets no answer changes nothing: the error is Away, and the next command tries again. Ended means that the
//     issuer has refused, and only a new login helps.
//  4. A code that the browser brings counts with the state, the PKCE verifier (S256) and the nonce of one secret, which that browser
//     alone has in a cookie. What of it outlives the login (Code.Session) makes the nonce, and nothing else.
//  5. Clients have no secret: what every command line knows is none.
package login

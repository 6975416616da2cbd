// Package keys has what credentials of others are checked with: a listener's certificate and the CAs of its clients, proxy
// certificates, and issuers of JSON web tokens. The native API and PanDA's use the same.
//
// # Invariants
//
//  1. Files are read again when they have changed (Fresh). What cannot be used leaves what was read before in force, and the
//     log says so.
//  2. A client certificate is asked for, never demanded, and a connection with one that is not good is refused in its handshake.
//  3. Issuer.Verify lets a token in only with the signature of its issuer's key (never an algorithm without a public one), for
//     one of the audiences, and while it is good. An issuer that does not answer is told from a token that is bad: Unchecked.
//     VerifySession lets the browser that logged in with a token use the page for longer (SessionLasts); it knows that by the nonce.
//  4. Anybody can send tokens: they cause a question to an issuer every ten seconds at most.
package keys

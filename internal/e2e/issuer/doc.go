// Issuer is an issuer of tokens that others wrote, for tests of logins: the provider of github.com/zitadel/oidc, which is certified by
// the OpenID Foundation, with its example's storage and pages. It is a module of its own, so that divvy depends on none of it.
//
// It has one client without a secret, divvy, and the user test-user2 (id2) with the password verysecure. ID tokens are good for 20
// seconds. It says its address on standard output and ends with its standard input.
package main

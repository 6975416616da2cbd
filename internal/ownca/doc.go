// Package ownca makes certificate authorities, certificates and issuers of JSON web tokens for tests. Only _test.go files
// import it.
//
//	ca := ownca.New(t, "people")                                   a CA, and its PEM file
//	cert, key := ca.Issue(t, until, ownca.Person("alice")...)      files of a certificate that it signed
//	issuer := ownca.NewIssuer(t)                                   an OIDC issuer on a port of its own; Logins says how people log in there
//
// All of it lives in t.TempDir and ends with the test. Errors end the test.
package ownca

// Package origin distinguishes requests of programs from requests that a page of a foreign site made a browser send. Routes without a token
// have no other protection.
package origin

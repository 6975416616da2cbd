// Package servetest starts daemons for tests: on a database and a port of their own, with a small site.
package servetest

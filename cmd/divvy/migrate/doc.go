// Package migrate is what the commands below divvy migrate do on a database, and what they say about it.
package migrate

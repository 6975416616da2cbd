// Package offline reaches the database of a configuration without a daemon, for commands that look at it, mend it, or make the first token.
package offline

// Package config is what can be said to a daemon: in a file, in the environment and by flags, the first that says it wins.
//
// The struct Config is all there is of it: a field's yaml tag is the key, its doc tag the sentence in docs/configuration.md and in
// the help of divvy serve. A value is checked when everything was read (Validate), and all that is wrong is said at once.
package config

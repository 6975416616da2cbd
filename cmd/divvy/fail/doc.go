// Package fail is how commands end that did not do what they were asked: with an exit code, and an error that may show a way out.
package fail

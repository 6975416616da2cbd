// Package mutate makes wrong requests of good ones, for tests of who reads them.
package mutate

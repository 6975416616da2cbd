// Package build knows which release a program is.
package build

// Package looks takes profiles of a bench while it measures, and draws them.
package looks

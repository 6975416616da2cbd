// Package profile takes profiles of a bench while it measures, and draws them.
package profile

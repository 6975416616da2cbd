// Package shares is the policy of sharing: values in, values out; no SQL, no clock, no goroutine.
// Dispatcher, simulator, what-if and explain call these same functions.
package shares

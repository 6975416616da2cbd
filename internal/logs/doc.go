// Package logs is how the daemon logs: log/slog underneath, with three things of its own.
//
//	logger ─▶ Levels: is it wanted? ─▶ sample: is it one of the first of its second? ─▶ hide secrets ─▶ text or JSON
//
// Promises:
//
//  1. One event is one line, with ids as attributes: job, task, queue, daemon, request_id.
//  2. Levels change while the daemon runs, for all of it or for a part (the attribute "part" of a logger made by With),
//     for good or until a time; then they are what the configuration says again.
//  3. Of one message and level, the first Config.PerSecond lines of a second are written, the rest is counted, and Flush says
//     how many that were. No error is lost in silence.
//  4. Passwords of DSNs, bearer tokens, tokens of divvy and JSON web tokens, values of attributes and columns with such names,
//     one or several, and every secret that Hide was told, are
//     replaced by xxxxx, whatever text they stand in.
//
// The package starts no goroutine: Flush is a step.
package logs

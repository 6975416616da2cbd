// Package meter exports the dispatcher's state and counts as metrics.
//
//	explain.Moment ──Look──▶ Snapshot ──Show──▶ ┐
//	                                            ├ Meter ──Collect──▶ /metrics
//	tally.Tally ──────────────────────Add─────▶ ┘
//
// Look is pure and reads a machine that does not change meanwhile; Show, Add and Count may be called concurrently. Every daemon shows its own
// view; work of the leader is counted by the leader only.
//
// # Invariants
//
//  1. A metric has one entry in metrics: name, kind, labels, help, buckets. testdata/metrics.golden lists former metrics; the test says which
//     of them are gone, and why.
//  2. Lines are bounded, whatever the site file says; divvy_metric_lines_left_out counts the missing ones.
//  3. Counters never fall while their share or queue is in the site. Lines of one that has gone go.
//  4. Showing metrics asks nothing of the database: a step calls Locks before Show.
package meter

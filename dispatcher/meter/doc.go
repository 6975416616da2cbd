// Package meter shows what the dispatcher exports as metrics: how things stand, and what was counted.
//
//	explain.Moment ──Look──▶ Snapshot ──Show──▶ ┐
//	                                            ├ Meter ──Collect──▶ /metrics
//	tally.Tally ──────────────────────Add─────▶ ┘
//
// Look is pure and reads a machine that stands still; Show, Add and Count may be called from anywhere. Every daemon shows its own view; what
// one daemon alone does, the leader, it alone counts.
//
// # Invariants
//
//  1. A metric has one entry in metrics: name, kind, labels, help, buckets. testdata/metrics.golden has what the dispatcher exported before,
//     and the test says which of these are gone, and why.
//  2. Lines are bounded, whatever the site file says; divvy_metric_lines_left_out says how many are missing.
//  3. Counters never fall while their share or queue is in the site. Lines of one that has gone go.
//  4. To show metrics asks nothing of the database: Locks is called by a step, before Show.
package meter

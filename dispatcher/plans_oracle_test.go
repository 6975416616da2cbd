package dispatcher

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// drawLoans lets a share own something, and keeps some from lending or borrowing all.
func drawLoans(r *rapid.T, plan *shares.Plan) {
	if rapid.IntRange(0, 2).Draw(r, "owns") > 0 {
		plan.Owned = shares.Of(shares.Units(rapid.IntRange(1, 4).Draw(r, "owned")) * 1000)
	}
	limit := func(what string) (l shares.Limit) {
		if n := rapid.IntRange(-3, 3).Draw(r, what); n >= 0 {
			l = upTo(shares.Units(n) * 1000)
		}
		return l
	}
	plan.Lend, plan.Borrow = limit("lend"), limit("borrow")
}

// With limits of lending and borrowing every answer is the oracle's as well: who was refused is served as soon as it
// may, and nobody is before.
func TestOracleLoans(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		s := &sequence{drawn: drawSite(t, r, siteKind{lends: true})}
		s.run("enqueue", "enqueue", "pull", "pull", "pull", "pull", "end", "end", "kill", "hold", "release")
	})
}

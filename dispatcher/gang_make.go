package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// members is how many jobs share the claim, where that matters: they may start together.
func (c NewClaim) members() int {
	if c.Outside || !c.Missing && !c.Template.Gang {
		return 0
	}
	return c.Members
}

// makeGangs notes how many jobs of gangs there are to be, and how many are made.
func makeGangs(ctx context.Context, tx pgx.Tx, all []NewClaim, ids []int64) error {
	var claims []int64
	var members, mades []int32
	for i, c := range all {
		if n := c.members(); n > 0 {
			claims, members, mades = append(claims, ids[i]), append(members, int32(n)), append(mades, int32(c.Made))
		}
	}
	if len(claims) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, query["make_gangs"], pgx.StrictNamedArgs{"claims": claims, "members": members, "mades": mades}); err != nil {
		return fmt.Errorf("gangs: %w", err)
	}
	return nil
}

// lingerOf is how long a claim stays bound that nobody holds: that of a gang not at all, since what is left has to start together.
func lingerOf(t shares.ClaimTemplate) time.Duration {
	if t.Gang {
		return 0
	}
	return t.Linger
}

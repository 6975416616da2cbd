package dispatcher

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
)

// MaxPayloadLog bounds what KeepLog keeps, in bytes: 64 KiB of stdout and of stderr, with a line that names each.
const MaxPayloadLog = 2*64<<10 + 64

// lateLog is how long after its end an attempt may still bring its log.
const lateLog = 15 * time.Minute

// logKeyLen is the length of a log key as text: 8 bytes of the job's id, 4 of the attempt's number, 16 of a hash.
const logKeyLen = 38

// LogKey returns the key by which the payload of a lease may bring its log to KeepLog. The key does not give the lease away: its holder can
// neither renew nor end the attempt. Empty for what is no lease.
func LogKey(token string) string {
	k, ok := parseLease(token)
	if !ok {
		return ""
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 28), uint64(k.Job))
	b = binary.BigEndian.AppendUint32(b, uint32(k.Attempt))
	return base64.RawURLEncoding.EncodeToString(append(b, logSum(k)...))
}

// logSum is the secret part of a log key.
func logSum(k lease.Key) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "payload log %d %d %d", k.Job, k.Attempt, k.Nonce))
	return sum[:16]
}

// KeepLog keeps the end of what a payload wrote, cut to its last MaxPayloadLog bytes, for JobLog. The first log of an attempt counts; a
// repeated call changes nothing. lookup.ErrNoAttempt when the key is of no attempt that runs, or ended less than a quarter of an hour ago.
func (v *Verbs) KeepLog(ctx context.Context, key, log string) error {
	b, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || len(key) != logKeyLen {
		return fmt.Errorf("%w: not a log key", lookup.ErrNoAttempt)
	}
	of := lease.Key{Job: int64(binary.BigEndian.Uint64(b)), Attempt: int32(binary.BigEndian.Uint32(b[8:]))}
	since, err := v.logFrom(ctx, of, b[12:])
	if err != nil {
		return err
	}
	args := pgx.StrictNamedArgs{"job": of.Job, "attempt": of.Attempt, "since": since, "log": clean(log[max(0, len(log)-MaxPayloadLog):])}
	// Planned anew: a prepared statement is planned for all days once on each connection, and locks them.
	_, err = v.d.cfg.Pool.Exec(ctx, query["keep_log"], pgx.QueryExecModeExec, args)
	return pg.Named("keep_log", err)
}

// logFrom is when the attempt was granted that a log key is good for, or a moment before that. A log comes before the end of its attempt, as a
// rule: tables are looked at only where there is no lease.
func (v *Verbs) logFrom(ctx context.Context, of lease.Key, sum []byte) (since time.Time, err error) {
	good := func(nonce int64) bool {
		return subtle.ConstantTimeCompare(logSum(lease.Key{Job: of.Job, Attempt: of.Attempt, Nonce: nonce}), sum) == 1
	}
	var runs bool
	_ = v.d.View(ctx, func(w machine.View) { // without an answer the tables are looked at
		l, ok := w.Lease(of.Job)
		runs = ok && l.Attempt == of.Attempt && good(l.Nonce)
	})
	type attempt struct {
		Nonce     int64
		GrantedAt time.Time
	}
	args := pg.Args{"job": of.Job, "attempt": of.Attempt, "late_s": lateLog.Seconds()}
	found, err := pg.Collect[attempt](ctx, v.d.cfg.Pool, query["log_attempt"], args)
	if err != nil {
		return since, err
	}
	for _, a := range found {
		if good(a.Nonce) {
			return a.GrantedAt, nil
		}
	}
	if runs { // it was granted a moment ago, and is not folded yet
		return time.Now().Add(-lateLog), nil
	}
	return since, fmt.Errorf("%w: the log key belongs to no attempt that runs or ended within %s", lookup.ErrNoAttempt, lateLog)
}

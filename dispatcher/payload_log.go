package dispatcher

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// MaxPayloadLog bounds what KeepLog keeps, in bytes: 64 KiB of stdout and of stderr, with a line that names each.
const MaxPayloadLog = 2*64<<10 + 64

// lateLog is how long after its end an attempt may still bring its log.
const lateLog = 15 * time.Minute

// logKeyLen is the length of a log key as text: 8 bytes of the job's id, 4 of the attempt's number, 16 of a hash.
const logKeyLen = 38

// LogKey returns the key by which the payload of a lease may bring its log to KeepLog. The key does not give the lease away:
// its holder can neither renew nor end the attempt. Empty for what is no lease.
func LogKey(lease string) string {
	k, ok := parseLease(lease)
	if !ok {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "payload log %d %d %d", k.job, k.attempt, k.nonce)) // keep_log.sql does the same
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 28), uint64(k.job))
	b = binary.BigEndian.AppendUint32(b, uint32(k.attempt))
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:16]...))
}

// KeepLog keeps the end of what a payload wrote, cut to its last MaxPayloadLog bytes, for JobLog. The first log of an attempt
// counts; a repeated call changes nothing. ErrNoAttempt when the key is of no attempt that runs, or ended less than a quarter
// of an hour ago.
func (d *Dispatcher) KeepLog(ctx context.Context, key, log string) error {
	b, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || len(key) != logKeyLen {
		return fmt.Errorf("%w: not a log key", ErrNoAttempt)
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timing.Statement)
	defer cancel()
	log = log[max(0, len(log)-MaxPayloadLog):]
	args := pgx.StrictNamedArgs{"job": int64(binary.BigEndian.Uint64(b)), "attempt": int32(binary.BigEndian.Uint32(b[8:])), "key": b[12:],
		"log": strings.ReplaceAll(strings.ToValidUTF8(log, "\ufffd"), "\x00", "\ufffd"), "late_s": lateLog.Seconds()}
	var good bool
	err = d.cfg.Pool.QueryRow(ctx, query["keep_log"], args).Scan(&good)
	if pg.Code(err) == pg.CodeCheckViolation { // today has no partition yet
		if _, err = d.Partition(ctx); err == nil {
			err = d.cfg.Pool.QueryRow(ctx, query["keep_log"], args).Scan(&good)
		}
	}
	if err != nil {
		return fmt.Errorf("keep log: %w", err)
	}
	if !good {
		return fmt.Errorf("%w: the log key is of none that runs, or ended less than %s ago", ErrNoAttempt, lateLog)
	}
	return nil
}

// JobLog returns the end of what an attempt wrote; attempt 0 is the last one that ended, or has brought its log. Where both
// the payload and its pilot said something, the pilot's part is below the line "--- pilot". ErrNoAttempt when there is none,
// ErrNoJob when there is no job.
func (d *Dispatcher) JobLog(ctx context.Context, id int64, attempt int) (string, error) {
	type logs struct{ Payload, Pilot string }
	found, err := collect[logs](ctx, d.cfg.Pool, "job_log", pgx.StrictNamedArgs{"job": id, "attempt": attempt})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		job, err := d.Job(ctx, id)
		if err != nil {
			return "", err
		}
		return "", fmt.Errorf("%w: job %d is %s", ErrNoAttempt, id, job.State)
	}
	of := found[0]
	if of.Payload == "" || of.Pilot == "" {
		return of.Payload + of.Pilot, nil
	}
	return strings.TrimSuffix(of.Payload, "\n") + "\n--- pilot\n" + of.Pilot, nil
}

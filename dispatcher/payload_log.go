package dispatcher

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
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

// plannedAnew is for statements about a few days of many. A prepared one is planned for all days once on each connection, to see
// whether that were cheaper, and locks them.
const plannedAnew = pgx.QueryExecModeExec

// logKeyLen is the length of a log key as text: 8 bytes of the job's id, 4 of the attempt's number, 16 of a hash.
const logKeyLen = 38

// LogKey returns the key by which the payload of a lease may bring its log to KeepLog. The key does not give the lease away:
// its holder can neither renew nor end the attempt. Empty for what is no lease.
func LogKey(lease string) string {
	k, ok := parseLease(lease)
	if !ok {
		return ""
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 28), uint64(k.job))
	b = binary.BigEndian.AppendUint32(b, uint32(k.attempt))
	return base64.RawURLEncoding.EncodeToString(append(b, logSum(k)...))
}

// logSum is the secret part of a log key.
func logSum(k leaseKey) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "payload log %d %d %d", k.job, k.attempt, k.nonce))
	return sum[:16]
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
	of := leaseKey{job: int64(binary.BigEndian.Uint64(b)), attempt: int32(binary.BigEndian.Uint32(b[8:]))}
	since, err := d.logFrom(ctx, of, b[12:])
	if err != nil {
		return err
	}
	log = log[max(0, len(log)-MaxPayloadLog):]
	args := pgx.StrictNamedArgs{"job": of.job, "attempt": of.attempt, "since": since,
		"log": strings.ReplaceAll(strings.ToValidUTF8(log, "\ufffd"), "\x00", "\ufffd")}
	_, err = d.cfg.Pool.Exec(ctx, query["keep_log"], plannedAnew, args)
	if pg.Code(err) == pg.CodeCheckViolation { // today has no partition yet
		if _, err = d.Partition(ctx); err == nil {
			_, err = d.cfg.Pool.Exec(ctx, query["keep_log"], plannedAnew, args)
		}
	}
	if err != nil {
		return fmt.Errorf("keep_log: %w", err)
	}
	return nil
}

// logFrom is when the attempt was granted that a log key is good for; ErrNoAttempt when it is good for none. A log comes before the
// end of its attempt, as a rule: attempts are looked at only where there is no lease.
func (d *Dispatcher) logFrom(ctx context.Context, of leaseKey, sum []byte) (granted time.Time, err error) {
	var (
		since   time.Time
		nonce   *int64
		claimed *time.Time
	)
	args := pgx.StrictNamedArgs{"job": of.job, "attempt": of.attempt, "late_s": lateLog.Seconds()}
	if err := d.cfg.Pool.QueryRow(ctx, query["log_lease"], args).Scan(&since, &nonce, &claimed); err != nil {
		return granted, fmt.Errorf("log_lease: %w", err)
	}
	good := func(nonce int64) bool {
		return subtle.ConstantTimeCompare(logSum(leaseKey{job: of.job, attempt: of.attempt, nonce: nonce}), sum) == 1
	}
	if nonce != nil && good(*nonce) {
		return *claimed, nil
	}
	type ended struct {
		Nonce     int64
		ClaimedAt time.Time
	}
	rows, err := d.cfg.Pool.Query(ctx, query["log_attempt"], plannedAnew, pgx.StrictNamedArgs{"job": of.job, "attempt": of.attempt, "since": since})
	if err != nil {
		return granted, fmt.Errorf("log_attempt: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[ended])
	if err != nil {
		return granted, fmt.Errorf("log_attempt: %w", err)
	}
	for _, a := range found {
		if good(a.Nonce) {
			return a.ClaimedAt, nil
		}
	}
	return granted, fmt.Errorf("%w: the log key belongs to no attempt that runs or ended within %s", ErrNoAttempt, lateLog)
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

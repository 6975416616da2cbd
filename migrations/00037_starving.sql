-- One meaning of starving for the metric and the reports; what started_at is; and a guard of attempts that are not in the roll-ups yet.

-- +goose Up
COMMENT ON COLUMN fairness_hours.starved_seconds IS 'Seconds in which it had ready jobs and a target of a unit or more, and held nothing while others of its pool did.';
COMMENT ON COLUMN report.share_fairness.starved_seconds IS 'Seconds in which it had ready jobs and a target of a unit or more, and held nothing while others of its pool did.';
COMMENT ON COLUMN report.fairness.starved_shares IS 'Leaves that had ready jobs and a target of a unit or more, and held nothing for some time while others did.';
-- Hours of which all samples are still there are rated anew.
UPDATE usage_state SET rated = least(rated, (SELECT date_trunc('hour', min(at), 'UTC') + interval '1 hour' FROM share_samples))
WHERE rated IS NOT NULL;

COMMENT ON COLUMN report.leases.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it has not said so.';
COMMENT ON COLUMN report.attempts.started_at IS 'When its pilot first said, in a renewal, that it runs: later than the payload began by up to the time between two renewals. NULL: it never said so, as of attempts that ended before their first renewal.';

-- A daemon of a version without roll-ups deletes what is old from the default partition row by row. It is kept from those that
-- are nowhere else yet; they go with a later purge.
-- +goose StatementBegin
CREATE FUNCTION divvy_keep_uncounted() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM usage_state s WHERE CASE WHEN OLD.nth IS NULL THEN OLD.ended_at >= s.past ELSE OLD.nth > s.done END) THEN
        RETURN NULL;
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION divvy_keep_uncounted IS 'Skips the deletion of an attempt that is not in the roll-ups yet.';
CREATE TRIGGER keep_uncounted BEFORE DELETE ON attempts_rest FOR EACH ROW EXECUTE FUNCTION divvy_keep_uncounted();

-- +goose Down
DROP TRIGGER keep_uncounted ON attempts_rest;
DROP FUNCTION divvy_keep_uncounted();
COMMENT ON COLUMN report.attempts.started_at IS 'When the payload began; NULL when it never did.';
COMMENT ON COLUMN report.leases.started_at IS 'When the payload began; NULL before.';
COMMENT ON COLUMN report.fairness.starved_shares IS 'Leaves that had ready jobs and a target and held nothing for some time.';
COMMENT ON COLUMN report.share_fairness.starved_seconds IS 'Seconds in which it had ready jobs and a target and held nothing.';
COMMENT ON COLUMN fairness_hours.starved_seconds IS 'Seconds in which it had ready jobs and a target, and held nothing.';

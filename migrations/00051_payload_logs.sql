-- What payloads of PanDA's pilots wrote: these pilots report no output, so the script that runs the payload brings it.

-- +goose Up
-- No default partition: only the dispatcher writes here, and makes the day first.
CREATE TABLE payload_logs (
    at      timestamptz NOT NULL DEFAULT now(),
    job_id  bigint      NOT NULL,
    attempt int         NOT NULL,
    log     text        NOT NULL
) PARTITION BY RANGE (at);
COMMENT ON TABLE payload_logs IS 'End of stdout and stderr of an attempt, beside attempts.log_tail, which its pilot reported. The first row of an attempt counts.';
ALTER TABLE payload_logs ALTER log SET STATISTICS 0;
CREATE INDEX payload_logs_job ON payload_logs (job_id, attempt);
COMMENT ON INDEX payload_logs_job IS 'By job: job logs, and whether an attempt has a row already.';

-- +goose Down
DROP TABLE payload_logs;

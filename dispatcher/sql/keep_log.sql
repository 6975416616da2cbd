-- Keeps the end of what a payload wrote, of an attempt that runs or ended at most so many seconds ago. The key is that of
-- LogKey; the first row of an attempt counts. Returns whether the key is good.
WITH fence AS (
    SELECT nonce FROM leases WHERE job_id = @job::bigint AND attempt = @attempt::int
    UNION ALL
    SELECT nonce FROM attempts
    WHERE job_id = @job::bigint AND attempt = @attempt::int AND ended_at > now() - make_interval(secs => @late_s::float8)
), good AS (
    SELECT EXISTS (SELECT FROM fence WHERE substr(sha256(convert_to(
        'payload log ' || @job::bigint || ' ' || @attempt::int || ' ' || nonce, 'UTF8')), 1, 16) = @key::bytea) AS yes
), kept AS (
    INSERT INTO payload_logs (job_id, attempt, log)
    SELECT @job::bigint, @attempt::int, @log::text FROM good
    WHERE good.yes AND NOT EXISTS (SELECT FROM payload_logs WHERE job_id = @job::bigint AND attempt = @attempt::int)
)
SELECT yes FROM good;

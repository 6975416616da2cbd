-- Says how far attempts are judged. The row is locked.
UPDATE judged SET at = @at::timestamptz, job = @job::bigint;

-- Locked jobs that are not wanted any more, whether they run or not.
UPDATE jobs SET scaled_away = true WHERE id = ANY (@ids::bigint[]);

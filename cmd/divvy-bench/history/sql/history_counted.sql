-- All that ended before today counts as added to the sums by node and to the waits, as history is in life.
WITH today AS (
    SELECT (now() AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC' AS began
), waits AS (
    UPDATE waited w SET at = greatest(w.at, t.began) FROM today t WHERE w.only_row
)
UPDATE rolled r SET at = greatest(r.at, t.began) FROM today t WHERE r.only_row;

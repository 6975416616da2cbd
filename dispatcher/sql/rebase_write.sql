-- The limits of a new epoch. Grants of the epoch before take nothing from here on.
WITH limited AS (
    INSERT INTO limits (kind, ref, pool, cap, free)
    SELECT * FROM unnest(@kinds::text[], @refs::text[], @pools::text[], @caps::bigint[], @free::bigint[])
)
UPDATE limit_epoch SET epoch = epoch + 1, version = @version::bigint, plans_at = @plans_at::timestamptz;

-- The first seq whose batch is of that time or later; one after the newest where there is none. As time never falls and seq has no gaps
-- it looks at some thirty rows. Whoever reads schema report may call it without a right to the table.
CREATE FUNCTION report.ledger_seq(since timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    low    bigint := coalesce((SELECT b.seq FROM batches b ORDER BY b.seq LIMIT 1), 1);
    high   bigint := coalesce((SELECT b.seq + 1 FROM batches b ORDER BY b.seq DESC LIMIT 1), 1);
    middle bigint;
BEGIN
    WHILE low < high LOOP
        middle := (low + high) / 2;
        IF (SELECT b.at < since FROM batches b WHERE b.seq = middle) THEN
            low := middle + 1;
        ELSE
            high := middle;
        END IF;
    END LOOP;
    RETURN low;
END $$;

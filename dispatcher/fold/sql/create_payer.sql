-- Who is charged for a lease now: moves apply in their order, each to leases that were granted before it. As Lease.now of package fold.
CREATE FUNCTION divvy_payer(of_task bigint, of_job bigint, of_nth bigint, INOUT payer int)
    LANGUAGE plpgsql
    STABLE
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    home int := payer;
    m    moves;
BEGIN
    FOR m IN SELECT * FROM moves WHERE task = of_task AND nth > of_nth AND of_job BETWEEN low AND high AND share <> 0 ORDER BY nth LOOP
        CONTINUE WHEN m.from_share NOT IN (0, home);
        home := m.share;
        IF m.running THEN
            payer := m.share;
        END IF;
    END LOOP;
END $$;

-- Lets an append fail as a whole where rows of the outbox are gone that it has the entries of.
CREATE FUNCTION divvy_all_gone(gone bigint, wanted bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF gone <> wanted THEN
        RAISE EXCEPTION 'of % rows of the outbox % are there', wanted, gone USING ERRCODE = 'DV001';
    END IF;
    RETURN true;
END $$;

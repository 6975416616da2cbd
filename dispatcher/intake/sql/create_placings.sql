-- The aging by which the jobs of a share have their places. A share without a row has none, and never had.
CREATE TABLE placings (
    share_id int    PRIMARY KEY,
    aging    jsonb, -- NULL: it has none
    after    bigint -- blocks up to this one have their places by it; NULL: all have
);

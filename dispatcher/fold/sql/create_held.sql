-- The leases that have not ended. Columns of all these tables stand by width, so that few bytes are padding.
CREATE TABLE held (
    job            bigint      NOT NULL,
    nth            bigint      NOT NULL, -- where the grant stands in the log: batch and place in it, see fold.Nth
    nonce          bigint      NOT NULL,
    task           bigint      NOT NULL,
    place          bigint      NOT NULL,
    units          bigint      NOT NULL, -- thousandths
    granted_at     timestamptz NOT NULL,
    request        uuid        NOT NULL, -- zeros: the pull had none
    attempt        int         NOT NULL,
    share          int         NOT NULL, -- as of the grant, as place: see moves
    shape          int         NOT NULL,
    queue          int         NOT NULL,
    start_delay_ms int         NOT NULL, -- from the grant until its pilot said that it runs; -1: it has not
    ttl_s          int         NOT NULL, -- that its renewals ask for; 0: the default
    grace_s        int         NOT NULL, -- of the order to end
    pilot          text        NOT NULL,
    node           text        NOT NULL,
    reason         text        NOT NULL, -- of the order to end it alone; empty: there is none, but see kills
    PRIMARY KEY (job)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

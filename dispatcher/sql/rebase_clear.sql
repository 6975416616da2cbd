-- Before a rebase, behind rebase_limits: no escrow, no positions. It is a statement of its own because it must see the escrow
-- rows that the former waited for: one that was new would outlive the limit that it came from.
WITH a AS (DELETE FROM escrow)
DELETE FROM limit_lanes;

-- Before a rebase: no escrow, no limits, no positions.
WITH a AS (DELETE FROM escrow), b AS (DELETE FROM limits)
DELETE FROM limit_lanes;

-- The epoch of the limits.
SELECT epoch FROM limit_epoch;

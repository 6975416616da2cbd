-- The epoch of the limits, and the moment whose plans they are of.
SELECT epoch, plans_at FROM limit_epoch;

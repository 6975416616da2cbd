-- In the order of the log, for whoever follows the ends.
CREATE INDEX over_ranges_nth ON over_ranges (nth, low);

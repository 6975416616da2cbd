-- Orders of the last minutes, for the rate; of more than a week ago, to drop them.
CREATE INDEX reclaims_ordered ON reclaims (ordered_at);

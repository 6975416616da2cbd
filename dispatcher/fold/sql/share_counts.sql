-- All jobs of shares, to be compared.
SELECT share, shape, queue, ready, held, held_units FROM share_counts;

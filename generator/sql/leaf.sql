-- Whether shares are still leaves of the tree in force.
SELECT count(*) = cardinality(@shares::int[]) FROM shares WHERE id = ANY (@shares::int[]) AND leaf AND removed_in IS NULL;

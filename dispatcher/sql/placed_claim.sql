-- Notes up to where the jobs of a locked claim have the shape that they should have.
UPDATE resource_claims SET unplaced = @more::boolean, placed_to = @upto::bigint WHERE id = @id::bigint;

-- Lets autovacuum wait for so many dead and so many inserted rows; NULL = as configured.
SELECT divvy_hold_vacuum(@name::text, @dead::bigint, @inserted::bigint);

-- All jobs that are to be made, for a start.
SELECT share, shape, jobs FROM expected WHERE jobs > 0 ORDER BY share, shape;

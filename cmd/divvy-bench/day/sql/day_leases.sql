-- The attempts that are not over.
SELECT job, attempt FROM held;

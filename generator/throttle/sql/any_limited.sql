-- Whether a live task has a bound of its own, or still what limits made of it.
SELECT EXISTS (SELECT FROM tasks WHERE quota IS NOT NULL AND ended_at IS NULL);

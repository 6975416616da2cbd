-- Whether a live task still has what limits made of it.
SELECT EXISTS (SELECT FROM tasks WHERE quota IS NOT NULL AND ended_at IS NULL);

-- Orders of more than a week ago.
DELETE FROM reclaims WHERE ordered_at < now() - interval '7 days' AND closed_at IS NOT NULL;

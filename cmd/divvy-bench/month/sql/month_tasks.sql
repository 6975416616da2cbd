-- The tasks, in their order, with user and share.
SELECT id, user_name, share_id FROM tasks ORDER BY id;

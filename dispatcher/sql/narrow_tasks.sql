-- The tasks of a user that are not over, and those of his among others that were seen to have jobs; the nth of their share.
SELECT t.id, row_number() OVER (PARTITION BY t.share_id ORDER BY t.priority DESC, t.id) AS nth
FROM (
    SELECT id, share_id, priority FROM tasks WHERE user_name = @user::text AND ended_at IS NULL
    UNION
    SELECT id, share_id, priority FROM tasks WHERE user_name = @user::text AND id = ANY (@seen::bigint[])
) t;

-- The tasks of a user that are not over, and those of his among others that were seen to have jobs.
SELECT t.id FROM tasks t WHERE t.user_name = @user::text AND t.ended_at IS NULL
UNION
SELECT t.id FROM tasks t WHERE t.user_name = @user::text AND t.id = ANY (@seen::bigint[]);

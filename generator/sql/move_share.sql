-- Gives tasks of one share that are not over to another: one, or all.
UPDATE tasks SET share_id = CASE WHEN share_id = @from::int THEN @to::int ELSE share_id END,
    own_share_id = nullif(CASE WHEN own_share_id = @from::int THEN @to::int ELSE own_share_id END,
        CASE WHEN share_id = @from::int THEN @to::int ELSE share_id END)
WHERE ended_at IS NULL AND (share_id = @from::int OR own_share_id = @from::int) AND (@task::bigint = 0 OR id = @task::bigint);

-- Notes the jobs of a task that it does not want any more.
INSERT INTO scaled_away (task_id, low, high)
SELECT * FROM unnest(@task_id::bigint[], @low::bigint[], @high::bigint[]);

-- Notes the jobs of a task that it does not want any more.
INSERT INTO scaled_away (task_id, low, high)
SELECT @task::bigint, a.low, a.high FROM unnest(@lows::bigint[], @highs::bigint[]) AS a (low, high);

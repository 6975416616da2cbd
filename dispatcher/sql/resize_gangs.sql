-- Claims of a task whose jobs start together have more or fewer of them; those that are made and were scaled away still count
-- as made. Their jobs are given the shape that says so, which has daemons look at the gang again.
WITH sized AS (
    SELECT c.id, n.members, n.more
    FROM unnest(@keys::text[], @members::int[], @mores::int[]) AS n (key, members, more)
    JOIN resource_claims c ON c.task_id = @task::bigint AND c.key = n.key AND c.state IN ('pending', 'bound')
    ORDER BY c.id FOR UPDATE OF c
), resized AS (
    UPDATE claim_gangs g SET members = greatest(1, g.members + s.more) FROM sized s WHERE g.claim_id = s.id
)
UPDATE resource_claims c SET template = jsonb_set(c.template, '{members}', to_jsonb(s.members)), unplaced = true, placed_to = 0,
    changed = pg_current_xact_id()
FROM sized s WHERE c.id = s.id;

-- Parties that were made, or have fewer jobs.
INSERT INTO claim_parties AS p (nth, task, jobs, claims)
SELECT nth, task, jobs, claims::bigint[] FROM unnest(@nth::bigint[], @task::bigint[], @jobs::bigint[], @claims::text[]) AS r (nth, task, jobs, claims)
ON CONFLICT (nth) DO UPDATE SET jobs = excluded.jobs;

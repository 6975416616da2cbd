-- Up to which id list_leased_jobs has looked; NULL: to the end.
SELECT CASE WHEN count(*) = @most::int THEN max(l.job_id) END
FROM (SELECT job_id FROM leases WHERE job_id > @after::bigint ORDER BY job_id LIMIT @most::int) l;

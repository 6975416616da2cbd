-- Every share as it stands now; times do not matter.
SELECT path AS share, leaf, weight, target_units, held_units, target_units - held_units AS deficit_units, ready_jobs, waiting_jobs
FROM report.shares_now
WHERE @since::timestamptz IS NOT NULL
ORDER BY path;

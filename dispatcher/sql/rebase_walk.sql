-- Live jobs are given their places anew where a share has aging, or had: its plan, or the share of a job, may be another.
UPDATE place_walk w SET after = 0, aged = a.aged
FROM (SELECT EXISTS (SELECT FROM shares s WHERE s.plan ? 'aging' AND s.removed_in IS NULL) AS aged) a
WHERE w.aged OR a.aged;

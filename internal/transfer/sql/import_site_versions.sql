-- Records of the kind site_version, as they come out of a file.
INSERT INTO site_versions (version, applied_at, applied_by, note, rollback_of, source, share_ids, queue_ids)
SELECT r.version, r.applied_at, r.applied_by, r.note, r.rollback_of, r.source, r.share_ids, r.queue_ids
FROM jsonb_to_recordset(@records::jsonb) AS r (version bigint, applied_at timestamptz, applied_by text, note text, rollback_of bigint, source text, share_ids jsonb, queue_ids jsonb);

-- Records of the kind site_later, as they come out of a file.
INSERT INTO site_later (id, effective_at, stored_at, stored_by, note, file, source, moves, base_version, state, version, error, ended_at, ended_by) OVERRIDING SYSTEM VALUE
SELECT r.id, r.effective_at, r.stored_at, r.stored_by, r.note, r.file, r.source, r.moves, r.base_version, r.state, r.version, r.error,
    r.ended_at, r.ended_by
FROM jsonb_to_recordset(@records::jsonb) AS r (id bigint, effective_at timestamptz, stored_at timestamptz, stored_by text, note text, file text, source text, moves jsonb,
    base_version bigint, state text, version bigint, error text, ended_at timestamptz, ended_by text);

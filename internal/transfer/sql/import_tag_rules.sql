-- Records of the kind tag_rule, as they come out of a file.
INSERT INTO tag_rules (version, position, match, share)
SELECT r.version, r.position, r.match, r.share
FROM jsonb_to_recordset(@records::jsonb) AS r (version bigint, position int, match jsonb, share text);

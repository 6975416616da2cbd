-- Figures of a Harvester's hosts.
INSERT INTO harvester_metrics (harvester_id, host, at, metrics)
SELECT @harvester::text, m.host, m.at, m.figures
FROM unnest(@hosts::text[], @at::timestamptz[], @figures::jsonb[]) AS m (host, at, figures)
ON CONFLICT (harvester_id, host, at) DO NOTHING;

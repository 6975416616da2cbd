-- Takes up the receivers of a site.
INSERT INTO webhooks (name) SELECT unnest(@names::text[]) ON CONFLICT DO NOTHING

-- Those of a party.
CREATE INDEX claim_jobs_party ON claim_jobs (party);

-- Those that hold a claim.
CREATE INDEX claim_parties_claims ON claim_parties USING gin (claims) WITH (fastupdate = off);

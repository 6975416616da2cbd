-- Those that another version of the site may have a template for.
CREATE INDEX claims_missing ON claims (id) WHERE missing;

-- Those whose time may be over with the next tick.
CREATE INDEX claims_due ON claims (look_at) WHERE look_at IS NOT NULL;

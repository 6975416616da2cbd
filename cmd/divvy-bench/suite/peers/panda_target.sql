-- A leaf and its part of the whole.
INSERT INTO panda_shares (share, target) VALUES ($1, $2);

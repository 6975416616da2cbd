-- For the moves of a share, and for places that its aging makes anew.
CREATE INDEX job_blocks_share ON job_blocks (share_id, low);

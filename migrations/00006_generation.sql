-- Generation: what made a job's insert dear and told nobody anything.

-- +goose Up
-- Two triggers a row, three quarters of PostgreSQL's time for a COPY of jobs. Shares and shapes are never deleted,
-- jobs have one writer, and that looks once at each share and shape of a batch (dispatcher, new_ids.sql).
ALTER TABLE jobs DROP CONSTRAINT jobs_share_id_fkey, DROP CONSTRAINT jobs_shape_id_fkey;

-- +goose Down
ALTER TABLE jobs ADD CONSTRAINT jobs_share_id_fkey FOREIGN KEY (share_id) REFERENCES shares (id),
    ADD CONSTRAINT jobs_shape_id_fkey FOREIGN KEY (shape_id) REFERENCES shapes (id);

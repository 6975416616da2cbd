-- +goose Up
ALTER TABLE shapes
    ADD COLUMN locations text[],
    ADD COLUMN locality text CONSTRAINT shapes_locality_check CHECK (locality IN ('required', 'preferred')),
    ADD CONSTRAINT shapes_locations_check CHECK ((locations IS NULL) = (locality IS NULL) AND cardinality(locations) <> 0);
COMMENT ON COLUMN shapes.locations IS 'Storages that have the inputs of a job, sorted; NULL: it does not matter where they are.';
COMMENT ON COLUMN shapes.locality IS 'required: only queues with one of the locations run it; preferred: they come first. NULL: no locations.';

-- +goose Down
ALTER TABLE shapes DROP COLUMN locations, DROP COLUMN locality;

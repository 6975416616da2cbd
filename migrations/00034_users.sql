-- +goose Up
ALTER TABLE shapes
    ADD COLUMN user_name text,
    ADD COLUMN plain_id int CONSTRAINT shapes_plain_id_fkey REFERENCES shapes (id),
    ADD CONSTRAINT shapes_user_name_check CHECK ((user_name IS NULL) = (plain_id IS NULL));
COMMENT ON COLUMN shapes.user_name IS 'Whose jobs have it, in shares that give jobs by fair turn among users; NULL: anybody''s.';
COMMENT ON COLUMN shapes.plain_id IS 'The same shape of anybody''s jobs; NULL: it is that.';

-- +goose Down
ALTER TABLE shapes DROP COLUMN user_name, DROP COLUMN plain_id;

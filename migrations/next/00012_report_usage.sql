-- x

-- +goose Up

-- +goose Down

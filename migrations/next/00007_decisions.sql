-- Decisions: each is an entry of the log (batches in 00004), and any of them is made again from the entries before it. Nothing is kept of
-- them beside it. What a standing was at the time of a batch is for a replay to say.

-- +goose Up

-- +goose Down

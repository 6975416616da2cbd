-- How many cores may be held at a queue, or come first there, as those say who feed it with pilots.
CREATE TABLE target_slots (
    queue      text        NOT NULL, -- its name: the site may get it later
    share_id   int         NOT NULL, -- with all below it; 0: all
    class      text        NOT NULL, -- of jobs; empty: all
    floor      boolean     NOT NULL,
    slots      int         NOT NULL CHECK (slots >= 0),
    expires_at timestamptz,
    set_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, share_id, class, floor)
);

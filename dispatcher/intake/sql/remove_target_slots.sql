-- Takes target slots back. No row: there were none.
DELETE FROM target_slots WHERE queue = @queue::text AND share_id = @share::int AND class = @class::text AND floor = @floor::boolean;

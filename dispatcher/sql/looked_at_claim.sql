-- Notes that a locked claim was looked at and there was nothing to do: divvy_tend_at says when it is to be looked at again.
UPDATE resource_claims SET tend_at = NULL WHERE id = @id::bigint;

-- Jobs that joined: a span of its own, or a longer one.
INSERT INTO claim_jobs AS j (low, high, party, place)
SELECT low, high, party, place FROM unnest(@low::bigint[], @high::bigint[], @party::bigint[], @order::int[]) AS r (low, high, party, place)
ON CONFLICT (low) DO UPDATE SET high = excluded.high, party = excluded.party, place = excluded.place;

-- Drops holds whose records are all settled, one element of each array for a hold: where it lies, its
-- lease, and one of its keys, which together say that it is still the same. What the sweeper has at the
-- moment is left to it.
DELETE FROM oncekey.holds target
  USING (
    SELECT h.place
    FROM unnest($1::tid[], $2::timestamptz[], $3::text[]) AS w (place, lease_until, key)
    CROSS JOIN LATERAL (
      SELECT found.ctid AS place FROM oncekey.holds found
      WHERE found.ctid = w.place AND found.lease_until = w.lease_until
        AND w.key = ANY (found.keys)
      FOR UPDATE SKIP LOCKED
    ) h
  ) s
  WHERE target.ctid = s.place

-- Drops holds whose records are all settled, one element of each array for a hold: where it lies, its
-- lease, and the transaction that made it, which together say that it is still the same, and the run of the
-- server. A server that took over may lack the settlements, and then only the hold leads to the records:
-- what another made is left to the sweeper, as is what it has at the moment.
DELETE FROM oncekey.holds target
  USING (
    SELECT h.place
    FROM unnest($1::tid[], $2::timestamptz[], $3::text[], $4::text[])
         AS w (place, lease_until, made_by, server)
    CROSS JOIN LATERAL (
      SELECT found.ctid AS place FROM oncekey.holds found
      WHERE found.ctid = w.place AND found.lease_until = w.lease_until
        AND found.xmin::text = w.made_by
      FOR UPDATE SKIP LOCKED
    ) h
    WHERE w.server = extract(epoch FROM pg_postmaster_start_time())::text
  ) s
  WHERE target.ctid = s.place

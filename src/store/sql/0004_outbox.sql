-- Messages that leave with the transaction that wrote them (outbox), and messages that were received
-- (inbox). `oncekey worker` delivers the outbox; docs/outbox.md explains how.
--
-- A message that is delivered at once costs three writes: its row, its claim, which touches no index
-- (HOT: no column that a claim changes is indexed), and its end. What waits, the aggregates and the dead
-- letters each have an index that holds nothing else, so that a large backlog of delivered messages is
-- not in the way.

CREATE SEQUENCE oncekey.outbox_claims;  -- numbers of claims, each used once

CREATE TABLE oncekey.outbox (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at   timestamptz NOT NULL,
  due_at       timestamptz NOT NULL,  -- not before this is it tried
  lease_until  timestamptz NOT NULL DEFAULT '-infinity',  -- the end of the claim
  delivered_at timestamptz,
  claim        bigint NOT NULL DEFAULT 0,    -- 0: nobody's
  attempt      integer NOT NULL DEFAULT 0,   -- how often it was claimed
  state        smallint NOT NULL DEFAULT 0,  -- 0 waiting, claimed or not; 1 dead; 2 delivered
  destination  text NOT NULL,
  message_key  text COLLATE "C" NOT NULL,
  aggregate    text COLLATE "C" NOT NULL DEFAULT '',  -- '': no order
  owner        text NOT NULL DEFAULT '',  -- the worker that has claimed it
  provider_id  text NOT NULL DEFAULT '',
  last_error   text NOT NULL DEFAULT '',
  headers      text[],  -- name, value, name, value, …
  payload      bytea NOT NULL
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX outbox_due ON oncekey.outbox (due_at, id) WHERE state = 0 AND aggregate = '';
CREATE INDEX outbox_aggregate ON oncekey.outbox (aggregate, id) WHERE aggregate <> '' AND state < 2;
CREATE INDEX outbox_dead ON oncekey.outbox (id) WHERE state = 1;
CREATE INDEX outbox_delivered ON oncekey.outbox (delivered_at) WHERE state = 2;

CREATE TABLE oncekey.inbox (
  received_at timestamptz NOT NULL,
  consumer    text COLLATE "C" NOT NULL,
  message_key text COLLATE "C" NOT NULL,
  PRIMARY KEY (consumer, message_key)
);
CREATE INDEX inbox_received ON oncekey.inbox (received_at);

COMMENT ON TABLE oncekey.outbox IS
  'One row for each message. Its texts are written as in oncekey.records. Change it only through oncekey.enqueue() and oncekey worker.';
COMMENT ON TABLE oncekey.inbox IS
  'Which consumer has had which message. Change it only through the functions of this schema.';

-- A worker that has nothing to do holds this lock for itself; whoever writes messages holds it, shared,
-- until his transaction ends. So a worker that gets it has seen every message that was written without
-- a notification, and whoever does not get it has a worker to wake. Notifying each time would make all
-- commits wait for each other: PostgreSQL writes its notifications one transaction at a time.
CREATE FUNCTION oncekey.outbox_lock() RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT 6073542931787420211::bigint $$;

-- Before a worker sleeps. 1: it may, and has to look for messages once more before it does; 2: it may,
-- because another one sleeps, and whoever wakes that one wakes both; 0: messages are being written whose
-- writers will not wake anybody.
CREATE FUNCTION oncekey.outbox_sleep() RETURNS integer
  LANGUAGE plpgsql VOLATILE
  AS $$
BEGIN
  IF pg_try_advisory_lock(oncekey.outbox_lock()) THEN
    RETURN 1;
  ELSIF pg_try_advisory_lock_shared(oncekey.outbox_lock()) THEN
    PERFORM pg_advisory_unlock_shared(oncekey.outbox_lock());
    RETURN 0;
  END IF;
  RETURN 2;
END
$$;

-- Takes texts as they are stored.
CREATE FUNCTION oncekey.enqueue_one(the_destination text, the_payload bytea, the_message_key text,
                                    the_aggregate text, the_headers text[]) RETURNS bigint
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
DECLARE
  new_id bigint;
  moment timestamptz := oncekey.clock();
BEGIN
  INSERT INTO oncekey.outbox
         (created_at, due_at, destination, message_key, aggregate, headers, payload)
  VALUES (moment, moment, the_destination,
          CASE WHEN the_message_key = '' THEN gen_random_uuid()::text ELSE the_message_key END,
          the_aggregate, the_headers, the_payload)
  RETURNING id INTO new_id;
  IF NOT pg_try_advisory_xact_lock_shared(oncekey.outbox_lock()) THEN
    PERFORM pg_notify('oncekey_outbox', '');
  END IF;
  RETURN new_id;
END
$$;

-- True: the first time, go on; false: this consumer has had that message. Whoever comes while another
-- transaction is consuming the same message waits until that one ends. Takes texts as they are stored.
CREATE FUNCTION oncekey.consume_one(the_consumer text, the_message_key text) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  INSERT INTO oncekey.inbox (received_at, consumer, message_key)
  VALUES (oncekey.clock(), the_consumer, the_message_key)
  ON CONFLICT (consumer, message_key) DO NOTHING;
  RETURN FOUND;
END
$$;

-- --- for applications ------------------------------------------------------------------------------

-- A message that is delivered after this transaction has committed, and not without it. Returns its id.
CREATE FUNCTION oncekey.enqueue(destination text, payload bytea, message_key text DEFAULT NULL,
                                aggregate text DEFAULT NULL, headers jsonb DEFAULT '{}')
  RETURNS bigint
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  IF enqueue.destination IS NULL OR enqueue.destination = '' OR length(enqueue.destination) > 255 THEN
    PERFORM oncekey.refuse('the destination must be a text of 1 to 255 characters',
                           'Name a sink of the worker''s configuration, such as ''provider''.');
  ELSIF enqueue.payload IS NULL THEN
    PERFORM oncekey.refuse('the payload is null', 'An empty message is ''''.');
  ELSIF length(enqueue.message_key) > 255 OR length(enqueue.aggregate) > 255 THEN
    PERFORM oncekey.refuse('message_key and aggregate must be texts of at most 255 characters',
                           'Pass what identifies them, or a hash of it.');
  END IF;
  RETURN oncekey.enqueue_one(
    oncekey.escaped(enqueue.destination), enqueue.payload,
    oncekey.escaped(coalesce(enqueue.message_key, '')),
    oncekey.escaped(coalesce(enqueue.aggregate, '')), oncekey.headers_to_store(enqueue.headers));
END
$$;

-- True: the first time, go on; false: this consumer has had that message.
CREATE FUNCTION oncekey.consume_once(consumer text, message_key text) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  IF consumer IS NULL OR consumer = '' OR length(consumer) > 255
     OR message_key IS NULL OR message_key = '' OR length(message_key) > 255 THEN
    PERFORM oncekey.refuse('consumer and message_key must be texts of 1 to 255 characters',
                           'Pass a name for what processes the message, and the message''s own key.');
  END IF;
  RETURN oncekey.consume_one(oncekey.escaped(consumer), oncekey.escaped(message_key));
END
$$;

-- Forgets what was received longer ago, at most so many; a message that comes again after that is new.
-- Returns how many it forgot.
CREATE FUNCTION oncekey.forget_consumed(older_than interval, at_most integer DEFAULT 1000)
  RETURNS bigint
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
DECLARE
  forgotten bigint;
BEGIN
  IF older_than IS NULL OR older_than < interval '0' OR at_most IS NULL
     OR at_most NOT BETWEEN 1 AND 100000 THEN
    PERFORM oncekey.refuse('older_than must not be negative, and at_most from 1 to 100000',
                           'For example: older_than => interval ''30 days''');
  END IF;
  DELETE FROM oncekey.inbox target USING (
    SELECT i.ctid AS place FROM oncekey.inbox i
    WHERE i.received_at < oncekey.clock() - older_than
    ORDER BY i.received_at LIMIT at_most FOR UPDATE SKIP LOCKED
  ) old
  WHERE target.ctid = old.place;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA oncekey FROM PUBLIC;

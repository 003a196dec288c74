-- Oncekey's tables, beside those of the service. The rules are those of src/boundary/decide.h.
--
-- Scopes and keys are kept as bytes, so that they are compared as such whatever the encoding of the
-- database: WHERE key = CAST('…' AS BLOB). Times are milliseconds since 1970.

CREATE TABLE oncekey_records (
  scope               BLOB NOT NULL,
  key                 BLOB NOT NULL,
  state               INTEGER NOT NULL,  -- 1 in_progress 2 completed 3 failed_retryable 4 unknown 5 expired
  -- in_progress: the end of the lease; unknown: not before this is it worth asking again; completed
  -- and failed_retryable: the end of retention; expired: the end of the tombstone.
  due_at              INTEGER NOT NULL,
  fence               INTEGER NOT NULL,
  attempt             INTEGER NOT NULL,
  retention_ms        INTEGER NOT NULL,
  tombstone_ms        INTEGER NOT NULL,
  created_at          INTEGER NOT NULL,
  completed_at        INTEGER NOT NULL,  -- 0: not settled as completed
  fingerprint_version INTEGER NOT NULL,
  fingerprint         BLOB NOT NULL,
  method              TEXT NOT NULL,
  path                TEXT NOT NULL,
  owner               TEXT NOT NULL,
  recovery_point      TEXT NOT NULL,
  last_error          TEXT NOT NULL,
  -- Null in a completed record: the answer was too large to keep.
  response_status     INTEGER,
  response_schema     INTEGER,
  response_encoding   INTEGER,           -- of the body: 0 as it is, 1 zstd
  response_headers    BLOB,
  response_body       BLOB,
  PRIMARY KEY (scope, key)
);
CREATE INDEX oncekey_records_due ON oncekey_records (state, due_at);
CREATE INDEX oncekey_records_failed ON oncekey_records (scope, key) WHERE state = 3;
CREATE INDEX oncekey_records_unknown ON oncekey_records (scope, key) WHERE state = 4;

-- Records that are resumed when their lease runs out. A row goes when its record is completed.
CREATE TABLE oncekey_workflows (
  scope    BLOB NOT NULL,
  key      BLOB NOT NULL,
  workflow TEXT NOT NULL,
  input    BLOB NOT NULL,
  data     BLOB NOT NULL,                -- what the last committed phase left for the next
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;

CREATE TABLE oncekey_outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  state        INTEGER NOT NULL,         -- 1 ready 2 behind another of its aggregate 3 delivered 4 dead
  due_at       INTEGER NOT NULL,         -- not before this is it tried; while claimed: the claim's end
  claim        INTEGER NOT NULL DEFAULT 0,
  attempt      INTEGER NOT NULL DEFAULT 0,
  created_at   INTEGER NOT NULL,
  delivered_at INTEGER NOT NULL DEFAULT 0,
  destination  TEXT NOT NULL,
  message_key  TEXT NOT NULL,
  aggregate    TEXT NOT NULL,            -- '': no order
  owner        TEXT NOT NULL DEFAULT '',
  provider_id  TEXT NOT NULL DEFAULT '',
  last_error   TEXT NOT NULL DEFAULT '',
  headers      BLOB NOT NULL,
  payload      BLOB NOT NULL
);
CREATE INDEX oncekey_outbox_ready ON oncekey_outbox (due_at, id) WHERE state = 1;
CREATE INDEX oncekey_outbox_behind ON oncekey_outbox (aggregate, id) WHERE state <> 3 AND aggregate <> '';
CREATE INDEX oncekey_outbox_delivered ON oncekey_outbox (delivered_at) WHERE state = 3;
CREATE INDEX oncekey_outbox_dead ON oncekey_outbox (id) WHERE state = 4;

CREATE TABLE oncekey_inbox (
  consumer    TEXT NOT NULL,
  message_key TEXT NOT NULL,
  consumed_at INTEGER NOT NULL,
  PRIMARY KEY (consumer, message_key)
) WITHOUT ROWID;

-- What all users of the database have in common: the secret, or the name of the one that they share.
CREATE TABLE oncekey_settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

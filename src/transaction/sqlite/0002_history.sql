-- What a record remembers of its past: boundary/history.h has its bytes. Null: nothing is kept.
ALTER TABLE oncekey_records ADD COLUMN history BLOB;
